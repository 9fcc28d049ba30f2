// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widget: the handle that every peer keeps. Building one is an allocation, so a miss shows the cache's own time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace larder::bench {

class Widget {
 public:
  explicit Widget(std::uint64_t seed) noexcept : value_(seed) { ++built_here; }
  ~Widget() {
    const auto time = destroy_takes.load(std::memory_order_relaxed);
    if (time.count() > 0) std::this_thread::sleep_for(time);
  }
  Widget(const Widget&) = delete;
  Widget& operator=(const Widget&) = delete;

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

  static inline thread_local std::uint64_t built_here = 0;  ///< by this thread
  static inline std::atomic<std::chrono::microseconds> destroy_takes{std::chrono::microseconds{0}};

 private:
  std::uint64_t value_;
};

/// What a cache is made for.
struct Room {
  std::size_t idle;    ///< handles to keep that nobody uses
  std::size_t leased;  ///< most handles in use at once, for caches whose capacity counts those too
};

}  // namespace larder::bench
