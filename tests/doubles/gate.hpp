// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gate: holds up whoever passes while it is closed, and lets a test wait until somebody is held up.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace larder::doubles {

class Gate {
 public:
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    if (open_) return;
    ++held_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --held_;
  }
  /// In a forked child: opens, without telling the threads that were held up, which are not there.
  void forget_held_and_open() {
    held_ = 0;
    open_ = true;
  }
  /// Waits until that many threads are held up at the same time.
  void wait_until_held(std::size_t count = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return held_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::size_t held_ = 0;
};

}  // namespace larder::doubles
