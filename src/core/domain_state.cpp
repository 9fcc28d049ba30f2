// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "domain_state.hpp"

#include <larder/detail/remembered.hpp>

#include "registry.hpp"

namespace larder::detail {

namespace {

const void* this_thread() noexcept { return &thread_memory; }

}  // namespace

DomainState::DomainState() { Registry::instance().add(*this); }

DomainState::~DomainState() { Registry::instance().remove(*this); }

void DomainState::lock() {
  if (owner_.load(std::memory_order_relaxed) != this_thread()) {
    mutex_.lock();
    owner_.store(this_thread(), std::memory_order_relaxed);
  }
  ++depth_;
}

void DomainState::unlock() noexcept {
  if (--depth_ > 0) return;
  owner_.store(nullptr, std::memory_order_relaxed);
  mutex_.unlock();
}

void DomainState::before_fork() noexcept {
  if (owner_.load(std::memory_order_relaxed) == this_thread()) return;
  mutex_.lock();
  locked_for_fork_ = true;
}

void DomainState::after_fork() noexcept {
  if (!locked_for_fork_) return;
  locked_for_fork_ = false;
  mutex_.unlock();
}

}  // namespace larder::detail
