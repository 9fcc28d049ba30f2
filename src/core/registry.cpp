// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "registry.hpp"

#include <pthread.h>

#include <vector>

#include <larder/detail/cache_core.hpp>
#include <larder/reclaim.hpp>

#include "domain_state.hpp"

namespace larder {

namespace detail {

Registry& Registry::instance() {
  static Registry& registry = *new Registry;
  return registry;
}

Registry::Registry() { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void Registry::add(CacheCore& cache) {
  const MutexLock lock(caches_mutex_);
  caches_.push_back(&cache);
}

void Registry::remove(CacheCore& cache) noexcept {
  const MutexLock lock(caches_mutex_);
  std::erase(caches_, &cache);
}

void Registry::add(DomainState& domain) {
  const MutexLock lock(domains_mutex_);
  domains_.push_back(&domain);
}

void Registry::remove(DomainState& domain) noexcept {
  const MutexLock lock(domains_mutex_);
  std::erase(domains_, &domain);
}

std::vector<CacheCore*> Registry::pin_all() {
  const MutexLock lock(caches_mutex_);
  std::vector<CacheCore*> pinned;
  pinned.reserve(caches_.size());
  for (CacheCore* const cache : caches_) {
    if (cache->pin()) pinned.push_back(cache);
  }
  return pinned;
}

void Registry::before_fork() noexcept {
  Registry& self = instance();
  self.domains_mutex_.lock();
  for (DomainState* const domain : self.domains_) domain->before_fork();
  self.caches_mutex_.lock();
  for (CacheCore* const cache : self.caches_) cache->before_fork();
}

void Registry::after_fork_in_parent() noexcept {
  Registry& self = instance();
  for (CacheCore* const cache : self.caches_) cache->after_fork_in_parent();
  self.caches_mutex_.unlock();
  for (DomainState* const domain : self.domains_) domain->after_fork();
  self.domains_mutex_.unlock();
}

void Registry::after_fork_in_child() noexcept {
  Registry& self = instance();
  (void)returns_can_be_plain();  // a new process may have to register anew
  for (CacheCore* const cache : self.caches_) cache->after_fork_in_child();
  self.caches_mutex_.unlock();
  for (DomainState* const domain : self.domains_) domain->after_fork();
  self.domains_mutex_.unlock();
}

}  // namespace detail

std::size_t reclaim(std::size_t bytes) {
  std::size_t freed = 0;
  for (detail::CacheCore* const cache : detail::Registry::instance().pin_all()) {
    if (freed < bytes || bytes == Budget::unlimited) {
      freed += cache->trim(bytes == Budget::unlimited ? bytes : bytes - freed);
    }
    cache->unpin();
  }
  return freed;
}

}  // namespace larder
