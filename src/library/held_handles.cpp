// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/held_handles.hpp>

#include <pthread.h>

#include <atomic>

namespace larder::library {

namespace {

std::atomic<std::uint64_t> count{0};

}  // namespace

std::uint64_t forks() noexcept {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  return count.load(std::memory_order_relaxed);
}

}  // namespace larder::library
