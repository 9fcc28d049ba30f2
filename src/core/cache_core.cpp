// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache as a whole: how it is made, its budget, and what is done to all of its handles at once.
#include <larder/detail/cache_core.hpp>

#include <algorithm>
#include <utility>

#include <larder/error.hpp>

#include "environment.hpp"
#include "guard.hpp"
#include "key_history.hpp"
#include "registry.hpp"
#include "return_model.hpp"

namespace larder::detail {

namespace {

std::uint64_t next_cache_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Limits resolve(const Budget& in_code, const Budget& factory_default) {
  Budget wanted = in_code;
  fill_from_environment(wanted);
  const auto decide = [&](auto Budget::*field, auto unlimited) {
    return (wanted.*field).value_or((factory_default.*field).value_or(unlimited));
  };
  return {.idle = decide(&Budget::max_idle, Budget::unlimited),
          .idle_per_key = decide(&Budget::max_idle_per_key, Budget::unlimited),
          .idle_bytes = decide(&Budget::max_idle_bytes, Budget::unlimited),
          .idle_age = decide(&Budget::max_idle_age, Budget::unlimited_age)};
}

CacheCore::CacheCore(const Budget& budget, const Options& options, const Budget& factory_default, bool shared,
                     bool survives_fork)
    : id_(next_cache_id()),
      listener_(options.listener),
      changed_(std::make_unique<std::condition_variable>()),
      shared_(shared),
      survives_fork_(survives_fork),
      policy_(options.policy ? *options.policy : policy_from_environment().value_or(Policy::value)),
      clock_(*options.clock),
      factory_default_(factory_default),
      max_live_(options.max_live ? *options.max_live : max_live_from_environment().value_or(Budget::unlimited)),
      plain_returns_(!shared && returns_can_be_plain()),
      limits_(resolve(budget, factory_default)),
      returns_(std::make_unique<ReturnModel>()),
      guard_(policy_.guarded ? std::make_unique<Guard>() : nullptr),
      history_(std::make_unique<KeyHistory>(*returns_)) {
  if (max_live_ == 0) throw InvalidArgument("Options::max_live is 0: no handle could ever be leased; use at least 1");
}

CacheCore::~CacheCore() = default;

void CacheCore::enroll() { Registry::instance().add(*this); }

void CacheCore::set_budget(const Budget& budget) {
  drain_deferred();
  const Limits limits = resolve(budget, factory_default_);
  Retired retired;
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    const bool ages_already = limits_.idle_age != Budget::unlimited_age;
    limits_ = limits;
    forget_scores();
    if (!may_unlock()) lock_every_return();
    if (!ages_already && limits.idle_age != Budget::unlimited_age) {
      oldest_idle_ = clock_.now();
      for (Slot* const slot : slots_) slot->idle_since = oldest_idle_;
    }
    expire(retired);
    for (Slot* const slot : slots_) {
      if (slot->record != nullptr && slot->record->slots == slot) enforce_per_key(*slot->record, retired);
    }
    enforce_totals(retired);
  }
  settle(retired);
}

void CacheCore::clear() noexcept {
  drain_deferred();
  Retired retired;
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    for (Slot* const slot : slots_) {
      if (slot->record != nullptr) condemn(*slot, EvictionCause::cleared, false, retired);
    }
  }
  settle(retired);
}

void CacheCore::invalidate_if(bool (*gone)(const KeyRecord&, const void* context), const void* context) noexcept {
  drain_deferred();
  Retired retired;
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    for (Slot* const slot : slots_) {
      if (slot->record != nullptr && gone(*slot->record, context)) {
        condemn(*slot, EvictionCause::invalidated, true, retired);
      }
    }
  }
  settle(retired);
}

std::size_t CacheCore::trim(std::size_t bytes) noexcept {
  drain_deferred();
  Retired retired;
  std::size_t freed = 0;
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    expire(retired);
    if (bytes == Budget::unlimited) {
      for (Slot* const slot : slots_) {
        const std::size_t held = slot->bytes.load(std::memory_order_relaxed);
        if (slot->stage == Slot::Stage::live && evict(*slot, EvictionCause::pressure, retired)) freed += held;
      }
    }
    while (freed < bytes) {
      Slot* const victim = cheapest_idle();
      if (victim == nullptr) break;
      const std::size_t held = victim->bytes.load(std::memory_order_relaxed);
      if (evict(*victim, EvictionCause::pressure, retired)) freed += held;
    }
  }
  settle(retired);
  return freed;
}

void CacheCore::give_up_idle(const KeyRecord& context_of) noexcept {
  Retired retired;
  {
    const MutexLock lock(mutex_);
    for (Slot* const slot : slots_) {
      if (slot->stage == Slot::Stage::live && same_context(*slot->record, context_of)) {
        evict(*slot, EvictionCause::pressure, retired);
      }
    }
  }
  settle(retired);
}

Stats CacheCore::stats() {
  // What a captured graph uses is in use.
  const auto is_free = [](const Slot& slot) { return is_idle(slot) && !slot.captured.load(std::memory_order_relaxed); };
  drain_deferred();
  Retired retired;
  Stats now;
  {
    const MutexLock lock(mutex_);
    expire(retired);
  }
  settle(retired);
  const MutexLock lock(mutex_);
  now = totals_;
  for (const Slot* const slot : slots_) {
    now.hits += slot->hits.load(std::memory_order_relaxed);
    if (slot->stage != Slot::Stage::live) continue;
    const std::size_t bytes = slot->bytes.load(std::memory_order_relaxed);
    const bool idle = is_free(*slot);
    ++(idle ? now.idle : now.leased);
    (idle ? now.idle_bytes : now.leased_bytes) += bytes;
  }
  for (const auto& [hash, record] : index_) {
    for (const Slot* slot = record->slots; slot != nullptr; slot = slot->next_of_key) {
      if (slot->stage == Slot::Stage::live && is_free(*slot)) {
        ++now.idle_keys;
        break;
      }
    }
  }
  now.live = live_;
  return now;
}

}  // namespace larder::detail
