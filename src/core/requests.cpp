// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests that take the mutex: acquire (hit, build, join a build, wait for a return), prewarm, and the return of a lease.
#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include <larder/error.hpp>

#include "event_key.hpp"
#include "key_history.hpp"

namespace larder::detail {

namespace {

constexpr double newest_cost_weight = 0.3;
// A deferred return may wake nobody, so whoever waits looks for one this often.
constexpr std::chrono::milliseconds deferred_poll{5};

/// A handle that a graph uses serves only the capture that it came from.
bool serves(const Slot& slot, const Request& request) noexcept {
  return !slot.captured.load(std::memory_order_relaxed) ||
         (request.stream.capturing && slot.stream.load(std::memory_order_relaxed) == request.stream.id);
}

/// Whether the request would rather have `a` than `b`: one that its own graph uses already, else the one used last
/// on its stream, else the one whose work has had the longest time to end; without streams the one returned last.
bool better(const Slot& a, const Slot& b, const Request& request) noexcept {
  const auto order = [&request](const Slot& slot) {
    const bool same_stream = slot.stream.load(std::memory_order_relaxed) == request.stream.id;
    return std::tuple(slot.captured.load(std::memory_order_relaxed), same_stream);
  };
  if (order(a) != order(b)) return order(a) > order(b);
  return std::get<1>(order(a)) ? returned_at(a) > returned_at(b) : returned_at(a) < returned_at(b);
}

}  // namespace

KeyRecord* CacheCore::find(Request request) const {
  const auto [first, last] = index_.equal_range(request.hash);
  for (auto entry = first; entry != last; ++entry) {
    if (has_key(*entry->second, request.key)) return entry->second.get();
  }
  return nullptr;
}

Slot* CacheCore::claim_best(KeyRecord& record, const Request& request) noexcept {
  for (;;) {
    Slot* best = nullptr;
    for (Slot* slot = record.slots; slot != nullptr; slot = slot->next_of_key) {
      if (slot->stage != Slot::Stage::live) continue;
      const Word word = slot->word();
      if (retiring(word) || (!shared_ && leases(word) > 0) || !serves(*slot, request)) continue;
      if (best == nullptr || better(*slot, *best, request)) best = slot;
    }
    if (best == nullptr) return nullptr;
    // Without the mutex another thread may be quicker; then look again.
    if (!best->claim_locked(shared_)) continue;
    best->hits.fetch_add(1, std::memory_order_relaxed);
    if (request.stream.capturing || !may_unlock()) {
      best->clear_plain();
      best->set_free_bits(0);
      if (best->in_budget) leave_budget(*best);
    } else if (best->in_budget || fits_in_budget(*best)) {
      if (best->set_free_bits(bits_when_free()) && !best->in_budget) enter_budget(*best);
    }
    return best;
  }
}

Slot* CacheCore::claim_idle(Request request) {
  drain_deferred();
  Retired retired;
  Slot* slot = nullptr;
  {
    const MutexLock lock(mutex_);
    if (closed_) throw Closed("acquire: the cache is being destroyed");
    advance_epoch();
    expire(retired);
    KeyRecord* const record = find(request);
    if (record != nullptr) slot = claim_best(*record, request);
  }
  settle(retired);
  return slot;
}

bool CacheCore::worth_another(const Slot& slot, std::chrono::nanoseconds pending) noexcept {
  const MutexLock lock(mutex_);
  return static_cast<double>(pending.count()) >= slot.record->use.build_cost && fits_in_budget(slot) &&
         live_ + building_ < max_live_;
}

Slot* CacheCore::acquire_slow(Request request, OnMiss on_miss, Deadline deadline) {
  drain_deferred();
  Retired retired;
  Slot* slot = nullptr;
  bool missed = false;
  bool builds = false;
  // What was taken out has to be settled also when a wait, a build or an allocation throws; and a request that may find
  // the cache closed when it wakes keeps the core for itself until then.
  struct Leave {
    CacheCore& core;
    Retired& retired;
    bool pinned = false;
    ~Leave() {
      core.settle(retired);
      if (pinned) core.unpin();
    }
  } at_end{*this, retired};
  {
    MutexLock lock(mutex_);
    advance_epoch();
    expire(retired);
    for (;;) {
      if (closed_) throw Closed("acquire: the cache is being destroyed");
      KeyRecord* const record = find(request);
      if (record != nullptr) {
        slot = claim_best(*record, request);
        if (slot != nullptr) {
          // After a wait it is a miss that a returned handle served.
          if (missed) slot->hits.fetch_sub(1, std::memory_order_relaxed);
          break;
        }
      }
      if (!missed) {
        missed = true;
        ++totals_.misses;
      }
      if (on_miss == OnMiss::give_up) break;
      if (!std::exchange(at_end.pinned, true)) ++pins_;
      if (record != nullptr && record->flight) {
        slot = join_flight(*record, lock, request, deadline);
        break;
      }
      if (live_ + building_ >= max_live_) {
        if (retired.empty()) {
          Slot* const victim = cheapest_idle();
          if (victim == nullptr) {
            wait_for_return(lock, request, deadline);
            if (has_deferred()) {
              lock.unlock();
              drain_deferred();
              lock.lock();
            }
          } else {
            evict(*victim, EvictionCause::budget, retired);
          }
        }
        if (!retired.empty()) {
          // The victim must be gone before its successor is built.
          lock.unlock();
          settle(retired);
          lock.lock();
        }
        continue;
      }
      slot = &start_build(request);
      builds = true;
      break;
    }
  }
  settle(retired);
  if (missed) {
    notify(request.key, request.hash, [](Listener& to, const KeyRef& key) { to.on_miss(key); });
  } else {
    notify(request.key, request.hash, [](Listener& to, const KeyRef& key) { to.on_hit(key); });
  }
  if (builds) build(*slot);
  return slot;
}

Slot* CacheCore::join_flight(KeyRecord& record, MutexLock& lock, Request request, Deadline deadline) {
  const std::shared_ptr<Flight> flight = record.flight;
  if (flight->builder == std::this_thread::get_id()) {
    throw Error("create for " + describe(request.key) + " asked its own cache for the same key");
  }
  ++flight->waiting;
  ++waiting_;
  bool in_time = true;
  while (!flight->done && in_time) {
    if (deadline == Deadline::max()) {
      changed_->wait(lock.native());
    } else {
      in_time = changed_->wait_until(lock.native(), deadline) == std::cv_status::no_timeout;
    }
  }
  --waiting_;
  if (!flight->done) {
    --flight->waiting;
    throw DeadlineExceeded("acquire: the build of " + describe(request.key) + " was not done before the deadline");
  }
  if (flight->error) std::rethrow_exception(flight->error);
  return flight->slot;
}

void CacheCore::wait_for_return(MutexLock& lock, Request request, Deadline deadline) {
  ++waiting_;
  ++waiting_for_return_;
  // A return that takes no mutex would wake nobody.
  lock_every_return();
  bool in_time = true;
  // What the budget still holds came back before its return was locked, and woke nobody: look again instead.
  if (in_budget_ == 0 && !has_deferred()) {
    const Deadline next_look = std::min(deadline, std::chrono::steady_clock::now() + deferred_poll);
    const bool woken = changed_->wait_until(lock.native(), next_look) == std::cv_status::no_timeout;
    in_time = woken || next_look < deadline;
  }
  --waiting_;
  --waiting_for_return_;
  if (!in_time) {
    throw DeadlineExceeded("acquire: all " + std::to_string(max_live_) +
                           " handles that max_live allows are leased; none for " + describe(request.key) +
                           " before the deadline");
  }
}

Slot& CacheCore::start_build(Request request) {
  // Everything that may throw comes first, so that a failure leaves nothing behind.
  KeyRecord* record = find(request);
  std::unique_ptr<KeyRecord> made;
  if (record == nullptr) {
    made = make_record(request);
    record = made.get();
  }
  std::shared_ptr<Flight> flight;
  if (shared_) {
    flight = std::make_shared<Flight>();
    flight->builder = std::this_thread::get_id();
  }
  if (vacant_ == nullptr) {
    const std::size_t index = slots_.size();
    if (index == slots_.capacity()) slots_.reserve(std::max<std::size_t>(16, 2 * index));
    standings_.resize(index + 1);
    Slot& added = add_slot();
    added.index = static_cast<std::uint32_t>(index);
    vacant_ = &added;
    slots_.push_back(&added);
  }
  if (made) {
    index_.emplace(request.hash, std::move(made));
    record->use = history_->take(request.hash);
  }

  Slot& slot = *vacant_;
  vacant_ = slot.next;
  slot.stage = Slot::Stage::building;
  slot.owner = std::this_thread::get_id();
  slot.record = record;
  slot.hash = request.hash;
  slot.next_of_key = record->slots;
  slot.condemned = false;
  slot.forget.store(false, std::memory_order_relaxed);
  slot.captured.store(false, std::memory_order_relaxed);
  slot.stream.store(0, std::memory_order_relaxed);
  standings_[slot.index].seen_hits = slot.hits.load(std::memory_order_relaxed);
  slot.bytes.store(0, std::memory_order_relaxed);
  slot.alone = record->slots == nullptr;
  if (!slot.alone) {
    record->slots->alone = false;
    standings_[record->slots->index].score_until = 0;
  }
  record->slots = &slot;
  ++record->slot_count;
  record->flight = std::move(flight);
  note_uses(record->use, 1, epoch_.load(std::memory_order_relaxed));
  forget_scores(*record);
  ++building_;
  return slot;
}

void CacheCore::build(Slot& slot) {
  std::chrono::nanoseconds cost{};
  std::size_t bytes = 0;
  try {
    cost = create_with_retry(slot);
    try {
      bytes = measure(slot);
    } catch (...) {
      try {
        destroy(slot);
      } catch (...) {
        // The first error is the one to report.
      }
      throw;
    }
  } catch (...) {
    const MutexLock lock(mutex_);
    abort_build(slot, std::current_exception());
    throw;
  }
  const KeyRecord& record = *slot.record;
  {
    const MutexLock lock(mutex_);
    publish(slot, cost, bytes);
  }
  notify(key_of(record), record.hash, [cost](Listener& to, const KeyRef& key) { to.on_build(key, cost); });
}

std::chrono::nanoseconds CacheCore::create_with_retry(Slot& slot) {
  for (bool again = false;; again = true) {
    const std::chrono::nanoseconds start = clock_.now();
    try {
      create(slot);
      return clock_.now() - start;
    } catch (const BuildFailed& failure) {
      count_build_failure(slot, failure.what());
      if (again || failure.retry() == Retry::no) throw;
    } catch (const std::exception& failure) {
      count_build_failure(slot, failure.what());
      throw;
    } catch (...) {
      count_build_failure(slot, "an exception not derived from std::exception");
      throw;
    }
    give_up_idle(*slot.record);
  }
}

void CacheCore::count_build_failure(const Slot& slot, const char* what) noexcept {
  {
    const MutexLock lock(mutex_);
    ++totals_.build_failures;
  }
  const KeyRecord& record = *slot.record;
  notify(key_of(record), record.hash, [what](Listener& to, const KeyRef& key) { to.on_build_failed(key, what); });
}

void CacheCore::publish(Slot& slot, std::chrono::nanoseconds cost, std::size_t bytes) noexcept {
  KeyRecord& record = *slot.record;
  ++totals_.builds;
  totals_.build_time += cost;
  if (record.use.evicted > 0) {
    --record.use.evicted;
    ++totals_.rebuilds;
  }
  forget_scores(record);
  record.use.build_cost = smoothed(record.use.build_cost, static_cast<double>(cost.count()), newest_cost_weight);
  --building_;
  ++live_;
  set_bytes(slot, bytes);
  if (guard_ != nullptr) show_to_guard(slot, true);
  totals_.peak_live = std::max(totals_.peak_live, live_);
  slot.stage = Slot::Stage::live;

  Word count = 1;
  if (record.flight) {
    count += record.flight->waiting;
    record.flight->slot = &slot;
    record.flight->done = true;
    record.flight.reset();
  }
  const bool unlocked = !slot.condemned && may_unlock() && fits_in_budget(slot);
  if (unlocked) enter_budget(slot);
  slot.publish(count, unlocked ? bits_when_free() : 0);
  // Cleared or invalidated while it was being built: good for this lease, then it goes.
  if (slot.condemned) (void)slot.retire();
  if (waiting_ > 0) changed_->notify_all();
}

void CacheCore::abort_build(Slot& slot, const std::exception_ptr& error) noexcept {
  KeyRecord& record = *slot.record;
  if (record.flight) {
    record.flight->error = error;
    record.flight->done = true;
    record.flight.reset();
  }
  --building_;
  vacate(slot);
  if (waiting_ > 0) changed_->notify_all();
}

void CacheCore::prewarm_slow(Request request, std::size_t count) {
  // As in acquire_slow: the cache may be closed while its handles are built here.
  struct Pin {
    CacheCore& core;
    explicit Pin(CacheCore& pinned) noexcept : core(pinned) { (void)core.pin(); }
    ~Pin() { core.unpin(); }
  } const pin_until_done(*this);
  drain_deferred();
  // A policy or a byte budget may evict what was just built: the number of builds is bounded, not only their result.
  for (std::size_t built = 0; built < count; ++built) {
    Slot* slot = nullptr;
    Retired retired;
    {
      MutexLock lock(mutex_);
      if (closed_) throw Closed("prewarm: the cache is being destroyed");
      advance_epoch();
      expire(retired);
      const KeyRecord* const record = find(request);
      std::size_t there = 0;
      bool building = false;
      for (const Slot* of_key = record == nullptr ? nullptr : record->slots; of_key != nullptr;
           of_key = of_key->next_of_key) {
        const Word word = of_key->word();
        const bool captured = of_key->captured.load(std::memory_order_relaxed);
        if (of_key->stage == Slot::Stage::live && !retiring(word) && !captured && (shared_ || leases(word) == 0))
          ++there;
        building = building || of_key->stage == Slot::Stage::building;
      }
      const std::size_t wanted = std::min({count, limits_.idle, limits_.idle_per_key, shared_ ? 1 : count});
      if (there < wanted && !(shared_ && building) && live_ + building_ < max_live_) slot = &start_build(request);
    }
    settle(retired);
    if (slot == nullptr) return;
    build(*slot);
    const std::size_t bytes = slot->bytes.load(std::memory_order_relaxed);
    stamp(*slot);
    return_slow(*slot, bytes, Return::keep);
  }
}

void CacheCore::return_slow(Slot& slot, std::size_t bytes, Return how) noexcept {
  Retired retired;
  Word kept = 0;
  const std::uint64_t hash = hash_on_stream(slot.hash, slot.stream.load(std::memory_order_relaxed));
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    expire(retired);
    slot.clear_plain();
    if (how != Return::keep) condemn(slot, EvictionCause::discarded, how == Return::forget, retired);
    if (bytes != slot.bytes.load(std::memory_order_relaxed)) set_bytes(slot, bytes);
    if (!slot.drop_if_not_last()) {
      // Without its place in the budget the handle can be neither claimed nor returned but under the mutex.
      slot.set_free_bits(0);
      if (slot.in_budget) leave_budget(slot);
      if (!slot.drop_if_not_last()) {
        if (retiring(slot.word())) {
          slot.drop_last();
          take_out(slot, retired);
        } else {
          kept = keep(slot, retired);
        }
      }
    }
    // A shared handle that grew while other leases of it remain may have outgrown the budget.
    enforce_totals(retired);
    // LIFO: the thread's next request for the key is to find this handle, not one that it returned before.
    if (kept != 0) remember({id_, hash, &slot, kept});
    if (waiting_for_return_ > 0) changed_->notify_all();
  }
  settle(retired);
}

void CacheCore::push_deferred(Slot& slot) noexcept {
  if (slot.deferred.fetch_add(1, std::memory_order_acq_rel) > 0) return;  // a shared slot that is in the list already
  Slot* first = deferred_.load(std::memory_order_relaxed);
  do {
    slot.next_deferred = first;
  } while (!deferred_.compare_exchange_weak(first, &slot, std::memory_order_release, std::memory_order_relaxed));
}

void CacheCore::notify_hit(const Slot& slot) noexcept {
  notify(key_of(*slot.record), slot.hash, [](Listener& to, const KeyRef& key) { to.on_hit(key); });
}

}  // namespace larder::detail
