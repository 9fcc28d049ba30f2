// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backend: a cache of one-dimensional FFT plans of one library, as churn and hotcold use it.
//
// A library is one file that implements Backend and one line in backend.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <larder/listener.hpp>
#include <larder/stats.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arguments.hpp"

namespace larder::cli {

/// What a back end is opened with.
struct BackendSettings {
  CacheSettings cache;
  std::int64_t largest_length = 1;                   ///< no request will be longer
  std::int64_t batch = 1;                            ///< transforms in one plan
  std::optional<std::string> wisdom = std::nullopt;  ///< file of planning results to read first
};

/// A cache of complex transforms of one library. For one thread at a time.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// Leases a plan of this length, runs it once and returns it; whether the plan had to be built.
  ///
  /// @throws larder::Error
  virtual bool use(std::int64_t length) = 0;
  [[nodiscard]] virtual Stats stats() const = 0;

  /// Memory in use where the library keeps its plans, in bytes.
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
  /// What memory_bytes() measures, in words.
  [[nodiscard]] virtual std::string memory_name() const = 0;
};

/// Adds --backend, which sets `name`; an unknown back end is refused while parsing.
void add_backend(CLI::App& app, std::string& name);

/// @throws BadArguments when the settings do not suit the back end
[[nodiscard]] std::unique_ptr<Backend> open_backend(const std::string& name, const BackendSettings& settings);

// The back ends, one file each.
[[nodiscard]] std::unique_ptr<Backend> open_cufft(const BackendSettings& settings);
[[nodiscard]] std::unique_ptr<Backend> open_fftw(const BackendSettings& settings);
[[nodiscard]] std::unique_ptr<Backend> open_simulated(const BackendSettings& settings);

/// Bytes of one array of the longest request, checked to fit. @throws BadArguments
[[nodiscard]] std::int64_t largest_array_bytes(const BackendSettings& settings);

/// Tells whether a call on a cache built anything.
class BuildWatch final : public Listener {
 public:
  void on_build(const KeyRef& /*key*/, std::chrono::nanoseconds /*build_cost*/) override { built_ = true; }
  /// Whether something was built since the last call.
  [[nodiscard]] bool take() noexcept { return std::exchange(built_, false); }

 private:
  bool built_ = false;
};

}  // namespace larder::cli
