// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DomainState: the recursive lock of a build domain, and its part in fork().
//
// std::recursive_mutex does not do: its owner is a kernel thread id, which differs in a forked child.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

namespace larder::detail {

class DomainState {
 public:
  DomainState();
  ~DomainState();
  DomainState(const DomainState&) = delete;
  DomainState& operator=(const DomainState&) = delete;

  void lock();
  void unlock() noexcept;

  void before_fork() noexcept;
  void after_fork() noexcept;

 private:
  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};  // identifies the thread inside; only that thread can find itself here
  std::size_t depth_ = 0;                    // by the thread inside
  bool locked_for_fork_ = false;             // by the forking thread
};

}  // namespace larder::detail
