// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clock: where a cache reads time, so that tests need not wait.
#pragma once

#include <chrono>

namespace larder {

/// Source of monotonic time for build costs and ages; thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::chrono::nanoseconds now() const noexcept = 0;

  /// The process-wide std::chrono::steady_clock.
  [[nodiscard]] static const Clock& steady() noexcept;
};

}  // namespace larder
