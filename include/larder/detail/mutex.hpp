// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutex, MutexLock: std::mutex with clang's thread-safety annotations, and the annotation macros.
#pragma once

#include <mutex>

#if defined(__clang__)
#define LARDER_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define LARDER_THREAD_ANNOTATION(x)
#endif

#define LARDER_CAPABILITY(x) LARDER_THREAD_ANNOTATION(capability(x))
#define LARDER_SCOPED_CAPABILITY LARDER_THREAD_ANNOTATION(scoped_lockable)
#define LARDER_GUARDED_BY(x) LARDER_THREAD_ANNOTATION(guarded_by(x))
#define LARDER_REQUIRES(...) LARDER_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define LARDER_EXCLUDES(...) LARDER_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define LARDER_ACQUIRE(...) LARDER_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define LARDER_RELEASE(...) LARDER_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define LARDER_NO_THREAD_SAFETY_ANALYSIS LARDER_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace larder::detail {

class LARDER_CAPABILITY("mutex") Mutex {
 public:
  void lock() LARDER_ACQUIRE() { mutex_.lock(); }
  void unlock() LARDER_RELEASE() { mutex_.unlock(); }
  std::mutex& native() noexcept { return mutex_; }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope; may be released and taken again in between.
class LARDER_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) LARDER_ACQUIRE(mutex) : lock_(mutex.native()) {}
  ~MutexLock() LARDER_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() LARDER_RELEASE() { lock_.unlock(); }
  void lock() LARDER_ACQUIRE() { lock_.lock(); }
  std::unique_lock<std::mutex>& native() noexcept { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace larder::detail
