// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registry: every cache and build domain of the process, for fork() and reclaim().
//
// Never destroyed, so caches in static storage may use it at any time. Around fork() it holds, in this order, the build
// domains (but for those the forking thread is inside of), its own mutex, and the mutex of every cache: the child finds
// all of them free and consistent. Two threads that fork from inside two different domains at once wait for each other.
#pragma once

#include <vector>

#include <larder/detail/mutex.hpp>

namespace larder::detail {

class CacheCore;
class DomainState;

class Registry {
 public:
  [[nodiscard]] static Registry& instance();

  void add(CacheCore& cache);
  void remove(CacheCore& cache) noexcept;
  void add(DomainState& domain);
  void remove(DomainState& domain) noexcept;

  /// Every cache that can be pinned, pinned; the caller unpins each.
  [[nodiscard]] std::vector<CacheCore*> pin_all();

 private:
  Registry();
  static void before_fork() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;
  static void after_fork_in_parent() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;
  static void after_fork_in_child() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;

  Mutex domains_mutex_;
  Mutex caches_mutex_;
  std::vector<DomainState*> domains_ LARDER_GUARDED_BY(domains_mutex_);
  std::vector<CacheCore*> caches_ LARDER_GUARDED_BY(caches_mutex_);
};

}  // namespace larder::detail
