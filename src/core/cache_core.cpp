// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/detail/cache_core.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <new>
#include <tuple>
#include <utility>

#include <larder/error.hpp>

#include "environment.hpp"
#include "key_history.hpp"
#include "registry.hpp"

namespace larder::detail {

namespace {

std::uint64_t next_cache_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

constexpr std::size_t smallest_history = 256;
constexpr std::size_t history_per_live_handle = 4;
constexpr double newest_gap_weight = 0.3;
constexpr double newest_cost_weight = 0.3;
// Half-life of a key's frequency: a few passes over everything the cache holds.
constexpr double half_life_per_handle = 4;
constexpr double shortest_half_life = 64;

double smoothed(double old, double sample, double weight) noexcept { return old == 0 ? sample : old + weight * (sample - old); }

/// When a handle was returned: the order that LRU and LIFO go by.
std::tuple<std::uint64_t, std::uint64_t> returned_at(const Slot& slot) noexcept {
  return {slot.epoch.load(std::memory_order_relaxed), slot.tick.load(std::memory_order_relaxed)};
}

bool is_idle(const Slot& slot) noexcept {
  const Word word = slot.word();
  return !retiring(word) && leases(word) == 0;
}

}  // namespace

/// A key as an event shows it.
class CacheCore::EventKey final : public KeyRef {
 public:
  EventKey(const CacheCore& core, const void* key, std::uint64_t hash) noexcept : core_(core), key_(key), hash_(hash) {}
  std::uint64_t hash() const noexcept override { return hash_; }
  std::string describe() const override { return core_.describe(key_); }

 private:
  const CacheCore& core_;
  const void* key_;
  std::uint64_t hash_;
};

template <class Notify>
void CacheCore::notify(const void* key, std::uint64_t hash, Notify&& event) noexcept {
  if (listener_ == nullptr) return;
  try {
    event(*listener_, EventKey(*this, key, hash));
  } catch (...) {
    // A listener cannot fail the call it watches.
  }
}

Limits resolve(const Budget& in_code, const Budget& factory_default) {
  const Budget environment = budget_from_environment();
  const auto decide = [&](auto Budget::*field, auto unlimited) {
    for (const Budget* budget : {&in_code, &environment, &factory_default}) {
      if (budget->*field) return *(budget->*field);
    }
    return unlimited;
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
      limits_(resolve(budget, factory_default)),
      history_(std::make_unique<KeyHistory>()) {
  if (max_live_ == 0) throw InvalidArgument("Options::max_live is 0: no handle could ever be leased; use at least 1");
}

CacheCore::~CacheCore() = default;

void CacheCore::enroll() { Registry::instance().add(*this); }

// --- Requests --------------------------------------------------------------------------------------------------------

KeyRecord* CacheCore::find(Request request) const {
  const auto [first, last] = index_.equal_range(request.hash);
  for (auto entry = first; entry != last; ++entry) {
    if (has_key(*entry->second, request.key)) return entry->second.get();
  }
  return nullptr;
}

Slot* CacheCore::claim_newest(KeyRecord& record) noexcept {
  for (;;) {
    Slot* newest = nullptr;
    for (Slot* slot = record.slots; slot != nullptr; slot = slot->next_of_key) {
      if (slot->stage != Slot::Stage::live) continue;
      const Word word = slot->word();
      if (retiring(word) || (!shared_ && leases(word) > 0)) continue;
      if (newest == nullptr || returned_at(*slot) > returned_at(*newest)) newest = slot;
    }
    if (newest == nullptr) return nullptr;
    // Without the mutex another thread may be quicker; then look again.
    if (!newest->claim_locked(shared_)) continue;
    newest->hits.fetch_add(1, std::memory_order_relaxed);
    if (!may_unlock()) {
      newest->set_unlocked(false);
      if (newest->in_budget) leave_budget(*newest);
    } else if (newest->in_budget || fits_in_budget(*newest)) {
      if (newest->set_unlocked(true) && !newest->in_budget) enter_budget(*newest);
    }
    return newest;
  }
}

Slot* CacheCore::acquire_slow(Request request, OnMiss on_miss, Deadline deadline) {
  drain_deferred();
  Retired retired;
  Slot* slot = nullptr;
  bool missed = false;
  bool builds = false;
  // What was taken out has to be settled also when a wait or an allocation throws.
  struct Settle {
    CacheCore& core;
    Retired& retired;
    ~Settle() { core.settle(retired); }
  } settle_at_end{*this, retired};
  {
    MutexLock lock(mutex_);
    advance_epoch();
    expire(retired);
    for (;;) {
      if (closed_) throw Closed("acquire: the cache is being destroyed");
      KeyRecord* const record = find(request);
      if (record != nullptr) {
        slot = claim_newest(*record);
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
      if (record != nullptr && record->flight) {
        slot = join_flight(*record, lock, request, deadline);
        break;
      }
      if (live_ + building_ >= max_live_) {
        if (retired.empty()) {
          Slot* const victim = cheapest_idle(nullptr);
          if (victim == nullptr) {
            wait_for_return(lock, request, deadline);
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
  if (deadline == Deadline::max()) {
    changed_->wait(lock.native());
  } else {
    in_time = changed_->wait_until(lock.native(), deadline) == std::cv_status::no_timeout;
  }
  --waiting_;
  --waiting_for_return_;
  if (!in_time) {
    throw DeadlineExceeded("acquire: all " + std::to_string(max_live_) + " handles that max_live allows are leased; none for " +
                           describe(request.key) + " before the deadline");
  }
}

Slot& CacheCore::start_build(Request request) {
  // Everything that may throw comes first, so that a failure leaves nothing behind.
  KeyRecord* record = find(request);
  std::unique_ptr<KeyRecord> made;
  if (record == nullptr) {
    made = make_record(request);
    made->use = history_->take(request.hash);
    record = made.get();
  }
  std::shared_ptr<Flight> flight;
  if (shared_) {
    flight = std::make_shared<Flight>();
    flight->builder = std::this_thread::get_id();
  }
  if (vacant_ == nullptr) {
    slots_.reserve(slots_.size() + 1);
    Slot& added = add_slot();
    added.next = vacant_;
    vacant_ = &added;
    slots_.push_back(&added);
  }
  if (made) index_.emplace(request.hash, std::move(made));

  Slot& slot = *vacant_;
  vacant_ = slot.next;
  slot.stage = Slot::Stage::building;
  slot.owner = std::this_thread::get_id();
  slot.record = record;
  slot.hash = request.hash;
  slot.next_of_key = record->slots;
  slot.condemned = false;
  slot.forget = false;
  slot.seen_hits = slot.hits.load(std::memory_order_relaxed);
  slot.bytes.store(0, std::memory_order_relaxed);
  record->slots = &slot;
  ++record->slot_count;
  record->flight = std::move(flight);
  note_uses(record->use, 1, epoch_.load(std::memory_order_relaxed));
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

void CacheCore::count_build_failure(const Slot& slot, const std::string& what) noexcept {
  {
    const MutexLock lock(mutex_);
    ++totals_.build_failures;
  }
  const KeyRecord& record = *slot.record;
  notify(key_of(record), record.hash, [&what](Listener& to, const KeyRef& key) { to.on_build_failed(key, what); });
}

void CacheCore::publish(Slot& slot, std::chrono::nanoseconds cost, std::size_t bytes) noexcept {
  KeyRecord& record = *slot.record;
  ++totals_.builds;
  totals_.build_time += cost;
  if (record.use.evicted > 0) {
    --record.use.evicted;
    ++totals_.rebuilds;
  }
  record.use.build_cost = smoothed(record.use.build_cost, static_cast<double>(cost.count()), newest_cost_weight);
  --building_;
  ++live_;
  set_bytes(slot, bytes);
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
  slot.publish(count, unlocked);
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
      for (const Slot* of_key = record == nullptr ? nullptr : record->slots; of_key != nullptr; of_key = of_key->next_of_key) {
        const Word word = of_key->word();
        if (of_key->stage == Slot::Stage::live && !retiring(word) && (shared_ || leases(word) == 0)) ++there;
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
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    expire(retired);
    if (how != Return::keep) condemn(slot, EvictionCause::discarded, how == Return::forget, retired);
    if (bytes != slot.bytes.load(std::memory_order_relaxed)) set_bytes(slot, bytes);
    if (!slot.drop_if_not_last()) {
      // Without its place in the budget the handle can be neither claimed nor returned but under the mutex.
      slot.set_unlocked(false);
      if (slot.in_budget) leave_budget(slot);
      if (!slot.drop_if_not_last()) {
        if (retiring(slot.word())) {
          slot.drop_last();
          take_out(slot, retired);
        } else {
          keep(slot, retired);
        }
      }
    }
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

// --- Logical time and use --------------------------------------------------------------------------------------------

void CacheCore::advance_epoch() noexcept {
  // The thread that was here last has told its returns in between by its ticks; any other must come after it.
  const std::uint64_t tick = thread_memory.tick;
  const bool same_thread = last_thread_ == &thread_memory && tick >= last_tick_;
  epoch_.store(epoch_.load(std::memory_order_relaxed) + (same_thread ? tick - last_tick_ : 1), std::memory_order_relaxed);
  last_tick_ = tick;
  last_thread_ = &thread_memory;
}

double CacheCore::decay(std::uint64_t age) const noexcept {
  const double half_life = std::max(shortest_half_life, half_life_per_handle * static_cast<double>(in_budget_));
  return std::exp2(-static_cast<double>(age) / half_life);
}

void CacheCore::note_uses(KeyUse& use, std::uint64_t count, std::uint64_t time) const noexcept {
  const std::uint64_t age = time > use.last_use ? time - use.last_use : 0;
  if (use.uses > 0) {
    use.frequency *= decay(age);
    use.typical_gap = smoothed(use.typical_gap, static_cast<double>(age) / static_cast<double>(count), newest_gap_weight);
  }
  use.frequency += static_cast<double>(count);
  use.uses += count;
  use.last_use = std::max(use.last_use, time);
  use.inflation = inflation_;
}

void CacheCore::harvest(Slot& slot) noexcept {
  const std::uint64_t hits = slot.hits.load(std::memory_order_relaxed);
  // A claim that is being taken back may show one hit fewer for a moment.
  if (hits <= slot.seen_hits) return;
  note_uses(slot.record->use, hits - slot.seen_hits, slot.epoch.load(std::memory_order_relaxed));
  slot.seen_hits = hits;
}

// --- Budget ----------------------------------------------------------------------------------------------------------

bool CacheCore::may_unlock() const noexcept {
  return waiting_for_return_ == 0 && limits_.idle_age == Budget::unlimited_age && !closed_;
}

void CacheCore::enter_budget(Slot& slot) noexcept {
  slot.in_budget = true;
  ++slot.record->in_budget;
  ++in_budget_;
  in_budget_bytes_ += slot.bytes.load(std::memory_order_relaxed);
}

void CacheCore::leave_budget(Slot& slot) noexcept {
  slot.in_budget = false;
  --slot.record->in_budget;
  --in_budget_;
  in_budget_bytes_ -= slot.bytes.load(std::memory_order_relaxed);
}

bool CacheCore::fits_in_budget(const Slot& slot) const noexcept {
  const std::size_t bytes = slot.bytes.load(std::memory_order_relaxed);
  return in_budget_ < limits_.idle && slot.record->in_budget < limits_.idle_per_key && bytes <= limits_.idle_bytes &&
         in_budget_bytes_ <= limits_.idle_bytes - bytes;
}

void CacheCore::set_bytes(Slot& slot, std::size_t bytes) noexcept {
  const std::size_t old = slot.bytes.load(std::memory_order_relaxed);
  live_bytes_ += bytes - old;
  if (slot.in_budget) in_budget_bytes_ += bytes - old;
  slot.bytes.store(bytes, std::memory_order_relaxed);
  totals_.peak_live_bytes = std::max(totals_.peak_live_bytes, live_bytes_);
}

void CacheCore::lock_every_return() noexcept {
  for (Slot* const slot : slots_) {
    if (slot->stage != Slot::Stage::live || !slot->in_budget) continue;
    slot->set_unlocked(false);
    // Idle handles stay in the budget; a leased one without U has no place in it.
    if (!is_idle(*slot)) leave_budget(*slot);
  }
}

void CacheCore::keep(Slot& slot, Retired& retired) noexcept {
  if (slot.bytes.load(std::memory_order_relaxed) > limits_.idle_bytes) {
    slot.cause = EvictionCause::bytes;
    (void)slot.retire();
    slot.drop_last();
    take_out(slot, retired);
    return;
  }
  if (limits_.idle_age != Budget::unlimited_age) slot.idle_since = clock_.now();
  enter_budget(slot);
  KeyRecord& record = *slot.record;
  slot.keep(may_unlock());
  enforce(&record, retired);
}

void CacheCore::enforce(KeyRecord* record, Retired& retired) noexcept {
  while (record != nullptr && record->in_budget > limits_.idle_per_key) shed(EvictionCause::per_key, record, retired);
  while (in_budget_ > limits_.idle) shed(EvictionCause::budget, nullptr, retired);
  while (in_budget_bytes_ > limits_.idle_bytes) shed(EvictionCause::bytes, nullptr, retired);
}

void CacheCore::shed(EvictionCause cause, KeyRecord* only, Retired& retired) noexcept {
  // A place that a leased handle holds for its return costs nothing to take: it will have to ask when it comes back.
  if (take_place_of_leased(only)) return;
  Slot* const victim = cheapest_idle(only);
  // If it is leased in this instant, its place is there to be taken in the next round.
  if (victim != nullptr) evict(*victim, cause, retired);
}

bool CacheCore::take_place_of_leased(KeyRecord* only) noexcept {
  const auto take = [this](Slot& slot) LARDER_REQUIRES(mutex_) {
    if (!slot.in_budget || is_idle(slot) || !slot.set_unlocked(false, true)) return false;
    leave_budget(slot);
    return true;
  };
  if (only != nullptr) {
    for (Slot* slot = only->slots; slot != nullptr; slot = slot->next_of_key) {
      if (take(*slot)) return true;
    }
    return false;
  }
  for (Slot* const slot : slots_) {
    if (take(*slot)) return true;
  }
  return false;
}

Slot* CacheCore::cheapest_idle(KeyRecord* only) noexcept {
  Slot* cheapest = nullptr;
  double lowest = 0;
  const auto consider = [&](KeyRecord& record) LARDER_REQUIRES(mutex_) {
    // Of one key's idle handles the one returned first is the one least likely to be asked for.
    Slot* oldest = nullptr;
    std::size_t idle = 0;
    for (Slot* slot = record.slots; slot != nullptr; slot = slot->next_of_key) {
      if (!slot->in_budget || !is_idle(*slot)) continue;
      harvest(*slot);
      ++idle;
      if (oldest == nullptr || returned_at(*slot) < returned_at(*oldest)) oldest = slot;
    }
    if (oldest == nullptr) return;
    const double its_score = score(record, *oldest, idle - 1);
    if (cheapest == nullptr || its_score < lowest || (its_score == lowest && returned_at(*oldest) < returned_at(*cheapest))) {
      cheapest = oldest;
      lowest = its_score;
    }
  };
  if (only != nullptr) {
    consider(*only);
  } else {
    for (Slot* const slot : slots_) {
      // Each record once, at the head of its list.
      if (slot->record != nullptr && slot->record->slots == slot) consider(*slot->record);
    }
    inflation_ = std::max(inflation_, lowest);
  }
  return cheapest;
}

double CacheCore::score(const KeyRecord& record, const Slot& slot, std::size_t spare) const noexcept {
  const std::uint64_t now = epoch_.load(std::memory_order_relaxed);
  const std::uint64_t age = now > record.use.last_use ? now - record.use.last_use : 0;
  const bool by_bytes = limits_.idle_bytes != Budget::unlimited;
  return policy_.score({.build_cost = record.use.build_cost,
                        .size = by_bytes ? std::max(1.0, static_cast<double>(slot.bytes.load(std::memory_order_relaxed))) : 1.0,
                        .uses = record.use.uses,
                        .frequency = record.use.frequency * decay(age),
                        .age = static_cast<double>(age),
                        .typical_gap = record.use.typical_gap,
                        .spare = spare,
                        .inflation = record.use.inflation});
}

bool CacheCore::evict(Slot& slot, EvictionCause cause, Retired& retired) noexcept {
  if (!slot.retire_idle()) return false;
  slot.cause = cause;
  take_out(slot, retired);
  return true;
}

void CacheCore::condemn(Slot& slot, EvictionCause cause, bool forget, Retired& retired) noexcept {
  if (!slot.condemned) slot.cause = cause;
  slot.condemned = true;
  if (forget) {
    slot.forget = true;
    slot.cause = cause;
  }
  if (slot.stage != Slot::Stage::live) return;
  const bool was_idle = slot.retire();
  if (was_idle) {
    take_out(slot, retired);
  } else if (slot.in_budget) {
    leave_budget(slot);
  }
}

void CacheCore::take_out(Slot& slot, Retired& retired) noexcept {
  harvest(slot);
  if (slot.in_budget) leave_budget(slot);
  slot.stage = Slot::Stage::leaving;
  slot.owner = std::this_thread::get_id();
  ++totals_.evictions[static_cast<std::size_t>(slot.cause)];
  ++slot.record->use.evicted;
  retired.push(slot);
}

void CacheCore::expire(Retired& retired) noexcept {
  if (limits_.idle_age == Budget::unlimited_age || in_budget_ == 0) return;
  const std::chrono::nanoseconds now = clock_.now();
  if (now - oldest_idle_ <= limits_.idle_age) return;
  std::chrono::nanoseconds oldest = now;
  for (Slot* const slot : slots_) {
    if (slot->stage != Slot::Stage::live || !slot->in_budget || !is_idle(*slot)) continue;
    if (now - slot->idle_since > limits_.idle_age) {
      evict(*slot, EvictionCause::age, retired);
    } else {
      oldest = std::min(oldest, slot->idle_since);
    }
  }
  oldest_idle_ = oldest;
}

void CacheCore::set_budget(const Budget& budget) {
  drain_deferred();
  const Limits limits = resolve(budget, factory_default_);
  Retired retired;
  {
    const MutexLock lock(mutex_);
    advance_epoch();
    limits_ = limits;
    if (!may_unlock()) {
      lock_every_return();
      const std::chrono::nanoseconds now = clock_.now();
      for (Slot* const slot : slots_) slot->idle_since = now;
      oldest_idle_ = now;
    }
    for (Slot* const slot : slots_) {
      if (slot->record != nullptr && slot->record->slots == slot) enforce(slot->record, retired);
    }
    enforce(nullptr, retired);
  }
  settle(retired);
}

void CacheCore::clear() noexcept {
  drain_deferred();
  Retired retired;
  {
    const MutexLock lock(mutex_);
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
      Slot* const victim = cheapest_idle(nullptr);
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
    const bool idle = is_idle(*slot);
    ++(idle ? now.idle : now.leased);
    (idle ? now.idle_bytes : now.leased_bytes) += bytes;
  }
  for (const auto& [hash, record] : index_) {
    for (const Slot* slot = record->slots; slot != nullptr; slot = slot->next_of_key) {
      if (slot->stage == Slot::Stage::live && is_idle(*slot)) {
        ++now.idle_keys;
        break;
      }
    }
  }
  now.live = live_;
  return now;
}

// --- End of a handle, a record and the core --------------------------------------------------------------------------

void CacheCore::settle(Retired& retired) noexcept {
  bool last = false;
  while (Slot* const slot = retired.pop()) {
    const KeyRecord& record = *slot->record;
    const void* const key = key_of(record);
    const EvictionCause cause = slot->cause;
    notify(key, record.hash, [cause](Listener& to, const KeyRef& what) { to.on_evict(what, cause); });

    const bool abandoned = slot->forget || !alive(*slot);
    bool failed = false;
    if (abandoned) {
      abandon(*slot);
      notify(key, record.hash, [](Listener& to, const KeyRef& what) { to.on_abandon(what); });
    } else {
      try {
        destroy(*slot);
      } catch (const std::exception& failure) {
        failed = true;
        notify(key, record.hash, [&failure](Listener& to, const KeyRef& what) { to.on_destroy_failed(what, failure.what()); });
      } catch (...) {
        failed = true;
        notify(key, record.hash, [](Listener& to, const KeyRef& what) {
          to.on_destroy_failed(what, "an exception not derived from std::exception");
        });
      }
      if (!failed) notify(key, record.hash, [](Listener& to, const KeyRef& what) { to.on_destroy(what); });
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
  --record.slot_count;

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
    history_->remember(record.hash, record.use, std::max(smallest_history, history_per_live_handle * live_));
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
  if (!closed_ || live_ > 0 || building_ > 0 || waiting_ > 0 || pins_ > 0 || doomed_) return false;
  doomed_ = true;
  return true;
}

void CacheCore::delete_doomed() noexcept {
  Registry::instance().remove(*this);
  delete this;
}

// --- fork() ----------------------------------------------------------------------------------------------------------

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
    slot->forget = true;
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
