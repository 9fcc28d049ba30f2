// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SimulatedCufft: a cuFFT over a SimulatedDriver that knows right use from wrong.
//
// A cufftHandle is the lowest free number, so numbers come back. A plan becomes an object of the driver when it is made;
// the driver then notices uses outside its context, after its end, or not ordered between streams. Wrong is also: a second
// MakePlan, a call on a number that is no plan, auto allocation left on, callbacks set at the wrong time or gone while the
// plan lives, a stream or work area that was never set, a work area that is set already, a call after `forbid_calls`. Wrong
// use never stops a test: it is listed in the driver's violations().
//
// Sizes imitate an H200: lengths without prime factors above 7 hold 50 KiB and need a work area of one array from 65536
// elements on; the others hold 16 KiB + 3.3 arrays and need 3 arrays from 4096 elements on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "doubles/simulated_driver.hpp"
#include "src/fft/cufft_library.hpp"

namespace larder::doubles {

/// What reached cufftXtMakePlanMany.
struct MakePlanCall {
  std::vector<long long> lengths;
  std::optional<std::vector<long long>> input_embed;
  long long input_stride;
  long long input_distance;
  int input_type;
  std::optional<std::vector<long long>> output_embed;
  long long output_stride;
  long long output_distance;
  int output_type;
  long long batch;
  int execution_type;

  friend bool operator==(const MakePlanCall&, const MakePlanCall&) = default;
};

/// What reached cufftXtSetCallback or cufftXtSetJITCallback.
struct CallbackCall {
  int type;
  void* function;  // nullptr for an LTO callback
  std::string name;
  std::string code;
  void* caller_info;
  std::size_t shared_bytes = 0;  // set afterwards

  friend bool operator==(const CallbackCall&, const CallbackCall&) = default;
};

/// One at a time: its functions find it through a global variable, as C functions do.
class SimulatedCufft {
 public:
  explicit SimulatedCufft(SimulatedDriver& driver);
  ~SimulatedCufft();
  SimulatedCufft(const SimulatedCufft&) = delete;
  SimulatedCufft& operator=(const SimulatedCufft&) = delete;

  [[nodiscard]] const fft::cufft::Library& library() const noexcept;
  /// As an older release: no LTO callbacks.
  void remove_jit_callbacks() noexcept;

  /// The nth next call of that function ("cufftCreate") gives this result and does nothing.
  void fail(const std::string& function, int result, int nth = 1);
  /// Every call from now on is a violation.
  void forbid_calls();

  /// Calls of that function so far, the failed ones too.
  [[nodiscard]] std::uint64_t calls(const std::string& function) const;
  /// All functions called so far, in order.
  [[nodiscard]] std::vector<std::string> history() const;
  [[nodiscard]] std::vector<MakePlanCall> made() const;
  /// The callbacks of the plan of that cufftHandle.
  [[nodiscard]] std::vector<CallbackCall> callbacks_of(int plan) const;
  /// The direction of every execution that has one, in order: -1 forward, 1 inverse.
  [[nodiscard]] std::vector<int> directions() const;
  /// cufftHandles created and not destroyed.
  [[nodiscard]] std::uint64_t open() const;
  /// Plans that were made, and of these the destroyed ones.
  [[nodiscard]] std::uint64_t plans_made() const;
  [[nodiscard]] std::uint64_t plans_destroyed() const;

  // What the plan of that cufftHandle has at the moment.
  [[nodiscard]] void* stream_of(int plan) const;
  [[nodiscard]] void* work_area_of(int plan) const;
  [[nodiscard]] gpu::Context context_of(int plan) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace larder::doubles
