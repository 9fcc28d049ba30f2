// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeClock: time that moves only when a test moves it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <larder/clock.hpp>

namespace larder::doubles {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override { return std::chrono::nanoseconds(now_.load()); }
  void advance(std::chrono::nanoseconds by) noexcept { now_.fetch_add(by.count()); }
  void set(std::chrono::nanoseconds to) noexcept { now_.store(to.count()); }

 private:
  std::atomic<std::int64_t> now_{0};
};

}  // namespace larder::doubles
