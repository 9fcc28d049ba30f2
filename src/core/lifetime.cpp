// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a handle, of a key's record and of the core; and what fork() does to them.
#include <algorithm>
#include <exception>
#include <utility>

#include "event_key.hpp"
#include "key_history.hpp"
#include "registry.hpp"

namespace larder::detail {

namespace {

constexpr std::size_t smallest_history = 64;
constexpr std::size_t history_per_live_handle = 2;

}  // namespace

void CacheCore::settle(Retired& retired) noexcept {
  bool last = false;
  while (Slot* const slot = retired.pop()) {
    const KeyRecord& record = *slot->record;
    const void* const key = key_of(record);
    const EvictionCause cause = slot->cause;
    notify(key, record.hash, [cause](Listener& to, const KeyRef& what) { to.on_evict(what, cause); });

    bool abandoned = slot->forget.load(std::memory_order_relaxed) || !alive(*slot);
    bool failed = false;
    if (!abandoned) {
      try {
        destroy(*slot);
      } catch (const std::exception& failure) {
        failed = true;
        notify(key, record.hash,
               [&failure](Listener& to, const KeyRef& what) { to.on_destroy_failed(what, failure.what()); });
      } catch (...) {
        failed = true;
        notify(key, record.hash, [](Listener& to, const KeyRef& what) {
          to.on_destroy_failed(what, "an exception not derived from std::exception");
        });
      }
      // The context could not be entered, or the work not waited for: then it cannot be destroyed.
      abandoned = failed && holds_handle(*slot);
      if (!failed) notify(key, record.hash, [](Listener& to, const KeyRef& what) { to.on_destroy(what); });
    }
    if (abandoned) {
      abandon(*slot);
      notify(key, record.hash, [](Listener& to, const KeyRef& what) { to.on_abandon(what); });
    }

    const MutexLock lock(mutex_);
    ++(abandoned ? totals_.abandoned : totals_.destroys);
    if (failed) ++totals_.destroy_failures;
    --live_;
    live_bytes_ -= slot->bytes.load(std::memory_order_relaxed);
    vacate(*slot);
    if (waiting_for_return_ > 0) changed_->notify_all();
    last = doom_if_finished();
  }
  if (last) delete_doomed();
}

void CacheCore::vacate(Slot& slot) noexcept {
  KeyRecord& record = *slot.record;
  Slot** link = &record.slots;
  while (*link != &slot) link = &(*link)->next_of_key;
  *link = slot.next_of_key;
  if (--record.slot_count == 1) record.slots->alone = true;

  slot.vacate();
  slot.stage = Slot::Stage::vacant;
  slot.record = nullptr;
  slot.next_of_key = nullptr;
  slot.next = vacant_;
  vacant_ = &slot;
  erase_if_unused(record);
}

void CacheCore::erase_if_unused(KeyRecord& record) noexcept {
  if (record.slots != nullptr || record.flight) return;
  if (record.use.build_cost > 0 || record.use.evicted > 0) {
    history_->remember(record.hash, record.use, std::max(smallest_history, history_per_live_handle * live_),
                       epoch_.load(std::memory_order_relaxed));
  }
  const auto [first, last] = index_.equal_range(record.hash);
  const auto found = std::find_if(first, last, [&record](const auto& entry) { return entry.second.get() == &record; });
  index_.erase(found);
}

void CacheCore::close() noexcept {
  drain_deferred();
  Retired retired;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    ++pins_;
    for (Slot* const slot : slots_) {
      if (slot->record != nullptr) condemn(*slot, EvictionCause::cleared, false, retired);
    }
    changed_->notify_all();
  }
  settle(retired);
  unpin();
}

bool CacheCore::pin() noexcept {
  const MutexLock lock(mutex_);
  if (doomed_) return false;
  ++pins_;
  return true;
}

void CacheCore::unpin() noexcept {
  bool last = false;
  {
    const MutexLock lock(mutex_);
    --pins_;
    last = doom_if_finished();
  }
  if (last) delete_doomed();
}

bool CacheCore::doom_if_finished() noexcept {
  if (!closed_ || live_ > 0 || pins_ > 0 || doomed_) return false;
  doomed_ = true;
  return true;
}

void CacheCore::delete_doomed() noexcept {
  Registry::instance().remove(*this);
  delete this;
}

void CacheCore::before_fork() noexcept {
  checked_out_mutex_.lock();
  mutex_.lock();
}

void CacheCore::after_fork_in_parent() noexcept {
  mutex_.unlock();
  checked_out_mutex_.unlock();
}

void CacheCore::after_fork_in_child() noexcept {
  const std::thread::id survivor = std::this_thread::get_id();
  if (waiting_ > 0) {
    // Its waiters are gone with their threads; destroying it would wait for them.
    (void)changed_.release();
    changed_ = std::make_unique<std::condition_variable>();
    waiting_ = 0;
    waiting_for_return_ = 0;
  }
  for (Slot* const slot : slots_) {
    if (slot->stage == Slot::Stage::building) {
      if (slot->owner == survivor) {
        if (slot->record->flight) slot->record->flight->waiting = 0;
        continue;
      }
      slot->record->flight.reset();
      --building_;
      vacate(*slot);
      continue;
    }
    const bool being_destroyed = slot->stage == Slot::Stage::leaving && slot->owner != survivor;
    if (!being_destroyed && (survives_fork_ || slot->stage != Slot::Stage::live)) continue;
    slot->condemned = true;
    slot->forget.store(true, std::memory_order_relaxed);
    slot->cause = EvictionCause::invalidated;
    const bool was_idle = slot->stage == Slot::Stage::live && slot->retire();
    if (slot->in_budget) leave_budget(*slot);
    if (!being_destroyed && !was_idle) continue;
    if (was_idle) ++totals_.evictions[static_cast<std::size_t>(EvictionCause::invalidated)];
    ++totals_.abandoned;
    --live_;
    live_bytes_ -= slot->bytes.load(std::memory_order_relaxed);
    abandon(*slot);
    vacate(*slot);
  }
  mutex_.unlock();
  checked_out_mutex_.unlock();
}

}  // namespace larder::detail
