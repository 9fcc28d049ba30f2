// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver: what larder needs of a GPU's driver; one implementation per vendor (cuda.hpp), and a simulated one in the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <larder/error.hpp>
#include <larder/gpu/context.hpp>
#include <larder/gpu/stream.hpp>
#include <larder/stream_state.hpp>

namespace larder::gpu {

/// A call of the driver failed.
class DriverError : public Error {
 public:
  /// @param call       the driver's function, for example "cuEventRecord"
  /// @param code       its result
  /// @param code_name  the driver's name of that result, for example "CUDA_ERROR_CONTEXT_IS_DESTROYED"
  DriverError(const std::string& call, long code, const std::string& code_name);

  [[nodiscard]] long code() const noexcept { return code_; }

 private:
  long code_;
};

/// Device memory is exhausted.
class OutOfMemory : public DriverError {
 public:
  using DriverError::DriverError;
};

/// Memory of one device, in bytes.
struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// An event of the driver (CUevent, hipEvent_t).
using NativeEvent = void*;

/// The functions of a GPU's driver that larder calls.
///
/// Every member is safe to call from several threads at once. Members throw DriverError unless they are noexcept. "The
/// current context" is that of the calling thread; only push, pop and set_current change it.
class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  virtual ~Driver() = default;

  /// Name of the back end: "cuda", "simulated".
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  [[nodiscard]] virtual int device_count() = 0;

  // --- Contexts ------------------------------------------------------------------------------------------------------

  /// The device's primary context, which the vendor's runtime API uses; made on the first call, never given back.
  [[nodiscard]] virtual Context primary_context(int device) = 0;
  /// The current context; none when there is none.
  [[nodiscard]] virtual Context current() = 0;
  /// Whether the context, not another one at its address, still exists. False also once the driver has shut down.
  [[nodiscard]] virtual bool alive(const Context& context) noexcept = 0;
  virtual void push(const Context& context) = 0;
  virtual void pop() noexcept = 0;
  /// Whether this context is on top of the thread's stack; cheaper than current().
  [[nodiscard]] virtual bool is_current(const Context& context) noexcept = 0;
  /// Replaces the top of the thread's stack.
  virtual void set_current(const Context& context) noexcept = 0;

  // --- Memory --------------------------------------------------------------------------------------------------------

  /// Of the current context's device.
  [[nodiscard]] virtual MemoryInfo memory() = 0;
  /// Memory of the current context's device.
  /// @throws OutOfMemory
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  /// Gives memory back once the work given to the stream so far is done. The stream must not capture.
  virtual void free(void* memory, Stream stream) noexcept = 0;
  /// Gives memory back after all work that may use it; blocks until then.
  virtual void free_when_idle(void* memory) noexcept = 0;

  /// Blocks until all work of the current context's device is done, whatever streams it was given to. Breaks no capture.
  virtual void wait_until_idle() = 0;

  // --- Streams -------------------------------------------------------------------------------------------------------

  /// Whether this is a default stream, which belongs to whatever context is current.
  [[nodiscard]] virtual bool is_default(Stream stream) const noexcept = 0;
  /// Unique for the life of the process, so that a stream at the address of a destroyed one is another; never 0. Breaks the
  /// capture of a stream that captures (CUDA's rule).
  [[nodiscard]] virtual std::uint64_t stream_id(Stream stream) = 0;
  /// The capture that the stream is in: never 0, unique per capture; 0 when it is in none.
  [[nodiscard]] virtual std::uint64_t capture_id(Stream stream) = 0;

  [[nodiscard]] StreamState stream_state(Stream stream) {
    constexpr std::uint64_t of_a_capture = std::uint64_t{1} << 63;
    const std::uint64_t capture = capture_id(stream);
    if (capture == 0) return {.id = stream_id(stream), .capturing = false};
    // A stream that captures has no id to ask for. Its address will do, since it cannot end before the capture does; mixed
    // with the capture's number, two of them are equal once in 2^63.
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stream.native()));
    return {.id = of_a_capture | ((capture * 0x9e3779b97f4a7c15U) ^ address), .capturing = true};
  }

  /// Lets this thread make calls that would otherwise break a capture going on anywhere in the process; until
  /// restore_capture_mode with what it gave.
  [[nodiscard]] virtual int relax_capture_mode() noexcept = 0;
  virtual void restore_capture_mode(int mode) noexcept = 0;

  // --- Events --------------------------------------------------------------------------------------------------------

  /// An event without timing, in the current context.
  [[nodiscard]] virtual NativeEvent create_event() = 0;
  virtual void destroy_event(NativeEvent event) = 0;
  /// The event now stands for the end of all work given to the stream so far. Default stream: of the current context.
  virtual void record(NativeEvent event, Stream stream) = 0;
  /// Work given to the stream from now on comes after the event.
  virtual void wait(Stream stream, NativeEvent event) = 0;
  [[nodiscard]] virtual bool done(NativeEvent event) = 0;
  /// Blocks until the event's work is done.
  virtual void synchronize(NativeEvent event) = 0;
};

}  // namespace larder::gpu
