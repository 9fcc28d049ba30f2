// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The budget ledger, what is known of each key's use, and the choice of what goes.
#include <algorithm>
#include <limits>

#include <larder/detail/cache_core.hpp>

#include "guard.hpp"
#include "return_model.hpp"

namespace larder::detail {

namespace {

// How far ahead of the scan the cache lines of slots are asked for: enough to hide the memory's latency.
constexpr std::size_t prefetched_slots = 16;

// For how many requests returns are not plain after one had to be interrupted. An interruption takes as long as some
// hundred returns; where the places of leased handles are taken all the time, it then counts for nothing.
constexpr std::uint64_t pause_of_plain_returns = 1 << 16;

}  // namespace

void CacheCore::advance_epoch() noexcept {
  // The thread that was here last has told its returns in between by its ticks; any other must come after it.
  const std::uint64_t tick = thread_memory.tick_of(id_);
  const bool same_thread = last_thread_ == &thread_memory && tick >= last_tick_;
  epoch_.store(epoch_.load(std::memory_order_relaxed) + (same_thread ? tick - last_tick_ : 1),
               std::memory_order_relaxed);
  last_tick_ = tick;
  last_thread_ = &thread_memory;
  if (pause_had_returns_ && epoch_.load(std::memory_order_relaxed) >= plain_from_) {
    // Their next requests or returns give them P.
    pause_had_returns_ = false;
    lock_returns_without(plain_bit);
  }
}

void CacheCore::note_uses(KeyUse& use, std::uint64_t count, std::uint64_t time) noexcept {
  returns_->note_uses(use, count, time);
  use.inflation = guard_ != nullptr ? guard_->inflation() : inflation_;
}

const Policy& CacheCore::policy() const noexcept {
  return guard_ != nullptr && guard_->gds_in_charge() ? Policy::gds : policy_;
}

double CacheCore::size_of(const Slot& slot) const noexcept {
  if (limits_.idle_bytes == Budget::unlimited) return 1;
  return std::max(1.0, static_cast<double>(slot.bytes.load(std::memory_order_relaxed)));
}

void CacheCore::show_to_guard(const Slot& slot, bool built) noexcept {
  const bool was_in_charge = guard_->gds_in_charge();
  const double room = limits_.idle_bytes == Budget::unlimited ? std::numeric_limits<double>::infinity()
                                                              : static_cast<double>(limits_.idle_bytes);
  // The shadow keeps one handle a key.
  if (built && slot.alone) guard_->note_build(slot.record->use.build_cost);
  guard_->note_use(slot.hash, slot.record->use.build_cost, size_of(slot), {limits_.idle, room});
  if (guard_->gds_in_charge() != was_in_charge) forget_scores();
}

std::uint64_t CacheCore::last_returned(const Slot& slot) const noexcept {
  const std::uint64_t now = epoch_.load(std::memory_order_relaxed);
  const std::uint64_t tick = slot.tick.load(std::memory_order_relaxed);
  // As many returns ago as the ticks say if the thread that was here last made it; between the epochs in any case.
  const std::uint64_t ago = last_tick_ > tick ? last_tick_ - tick : 0;
  return std::max(now - std::min(ago, now), slot.epoch.load(std::memory_order_relaxed));
}

void CacheCore::harvest(Slot& slot) noexcept {
  // A claim that is being taken back may show one hit fewer for a moment.
  const std::uint64_t hits = slot.hits.load(std::memory_order_relaxed);
  if (hits > standings_[slot.index].seen_hits) note_hits(slot, hits);
}

void CacheCore::note_hits(Slot& slot, std::uint64_t hits) noexcept {
  std::uint64_t& seen = standings_[slot.index].seen_hits;
  note_uses(slot.record->use, hits - seen, last_returned(slot));
  forget_scores(*slot.record);
  seen = hits;
  if (guard_ != nullptr) show_to_guard(slot, false);
}

bool CacheCore::may_unlock() const noexcept {
  return waiting_for_return_ == 0 && limits_.idle_age == Budget::unlimited_age && !closed_;
}

Word CacheCore::bits_when_free() noexcept {
  if (!may_unlock()) return 0;
  if (!plain_returns_) return unlocked_bit;
  if (epoch_.load(std::memory_order_relaxed) >= plain_from_) return free_bits;
  pause_had_returns_ = true;
  return unlocked_bit;
}

void CacheCore::note_change_of_leased(const Slot& slot) noexcept {
  if (may_be_undone(slot.word())) plain_from_ = epoch_.load(std::memory_order_relaxed) + pause_of_plain_returns;
}

void CacheCore::enter_budget(Slot& slot) noexcept {
  slot.in_budget = true;
  ++slot.record->in_budget;
  ++in_budget_;
  in_budget_bytes_ += slot.bytes.load(std::memory_order_relaxed);
}

void CacheCore::leave_budget(Slot& slot) noexcept {
  slot.in_budget = false;
  standings_[slot.index].score_until = 0;
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
  standings_[slot.index].score_until = 0;
  totals_.peak_live_bytes = std::max(totals_.peak_live_bytes, live_bytes_);
}

void CacheCore::lock_every_return() noexcept { lock_returns_without(0); }

void CacheCore::lock_returns_without(Word bits) noexcept {
  for (Slot* const slot : slots_) {
    if (slot->stage != Slot::Stage::live || !slot->in_budget || (slot->word() & bits) != 0) continue;
    note_change_of_leased(*slot);
    slot->set_free_bits(0);
    // Idle handles stay in the budget; a leased one without U has no place in it.
    if (!is_idle(*slot)) leave_budget(*slot);
  }
}

Word CacheCore::keep(Slot& slot, Retired& retired) noexcept {
  if (slot.captured.load(std::memory_order_relaxed)) {
    (void)slot.keep(0);
    return 0;
  }
  const bool too_large = slot.bytes.load(std::memory_order_relaxed) > limits_.idle_bytes;
  if (too_large || limits_.idle_age <= std::chrono::nanoseconds::zero()) {
    slot.cause = too_large ? EvictionCause::bytes : EvictionCause::age;
    (void)slot.retire();
    slot.drop_last();
    take_out(slot, retired);
    return 0;
  }
  if (limits_.idle_age != Budget::unlimited_age) slot.idle_since = clock_.now();
  enter_budget(slot);
  KeyRecord& record = *slot.record;
  const Word kept = slot.keep(bits_when_free());
  enforce_per_key(record, retired);
  enforce_totals(retired);
  return unlocked(kept) ? kept : 0;
}

void CacheCore::enforce_per_key(KeyRecord& record, Retired& retired) noexcept {
  while (record.in_budget > limits_.idle_per_key) shed(EvictionCause::per_key, &record, retired);
}

void CacheCore::enforce_totals(Retired& retired) noexcept {
  while (in_budget_ > limits_.idle) shed(EvictionCause::budget, nullptr, retired);
  while (in_budget_bytes_ > limits_.idle_bytes) shed(EvictionCause::bytes, nullptr, retired);
}

void CacheCore::shed(EvictionCause cause, KeyRecord* only, Retired& retired) noexcept {
  // A place that a leased handle holds for its return costs nothing to take: it will have to ask when it comes back.
  const auto take_place = [this](Slot& slot) LARDER_REQUIRES(mutex_) {
    note_change_of_leased(slot);
    if (!slot.set_free_bits(0, true)) return false;
    leave_budget(slot);
    return true;
  };
  Slot* const victim = cheapest_idle(only, take_place);
  // If the victim is leased in this instant, its place is there to be taken in the next round.
  if (victim != nullptr) evict(*victim, cause, retired);
}

template <class StopAtLeased>
Slot* CacheCore::cheapest_idle(KeyRecord* only, StopAtLeased&& stop_at_leased) noexcept {
  Slot* cheapest = nullptr;
  double lowest = std::numeric_limits<double>::infinity();
  const auto compare = [&](Slot& slot, double its_score) {
    if (its_score > lowest) return;
    if (cheapest == nullptr || its_score < lowest || returned_at(slot) < returned_at(*cheapest)) {
      cheapest = &slot;
      lowest = its_score;
    }
  };
  // Of one key's idle handles the one returned first is the one least likely to be asked for.
  const auto consider = [&](KeyRecord& record) LARDER_REQUIRES(mutex_) {
    Slot* oldest = nullptr;
    std::size_t idle = 0;
    for (Slot* slot = record.slots; slot != nullptr; slot = slot->next_of_key) {
      if (!slot->in_budget) continue;
      if (!is_idle(*slot)) {
        if (stop_at_leased(*slot)) return true;
        continue;
      }
      harvest(*slot);
      ++idle;
      if (oldest == nullptr || returned_at(*slot) < returned_at(*oldest)) oldest = slot;
    }
    if (oldest != nullptr) compare(*oldest, score(record, *oldest, idle - 1));
    return false;
  };
  if (only != nullptr) return consider(*only) ? nullptr : cheapest;
  // Nothing below moves the slots or their standings, which the compiler cannot know.
  Slot* const* const slots = slots_.data();
  const std::size_t count = slots_.size();
  const std::uint64_t now = epoch_.load(std::memory_order_relaxed);
  const Standing* standing = standings_.data();
  for (std::size_t i = 0; i < count; ++i, ++standing) {
    if (i + prefetched_slots < count) __builtin_prefetch(slots[i + prefetched_slots]);
    Slot& slot = *slots[i];
    const bool holds = now < standing->score_until;
    if (holds || (slot.alone && slot.in_budget)) {
      if (is_idle(slot)) {
        const bool no_more_hits = slot.hits.load(std::memory_order_relaxed) == standing->seen_hits;
        compare(slot, holds && no_more_hits ? standing->score : score_alone(slot));
      } else if (stop_at_leased(slot)) {
        return nullptr;
      }
    } else if (!slot.alone && slot.record != nullptr && slot.record->slots == &slot && consider(*slot.record)) {
      return nullptr;
    }
  }
  if (cheapest != nullptr) inflation_ = std::max(inflation_, lowest);
  return cheapest;
}

Slot* CacheCore::cheapest_idle() noexcept {
  return cheapest_idle(nullptr, [](Slot&) { return false; });
}

double CacheCore::score_alone(Slot& slot) noexcept {
  harvest(slot);
  Standing& standing = standings_[slot.index];
  standing.score = score(*slot.record, slot, 0);
  switch (policy().aging) {
    case Aging::changes: break;
    case Aging::with_return_rate: standing.score_until = slot.record->use.rate_until; break;
    case Aging::holds: standing.score_until = std::numeric_limits<std::uint64_t>::max(); break;
  }
  return standing.score;
}

void CacheCore::forget_scores(const KeyRecord& record) noexcept {
  for (const Slot* slot = record.slots; slot != nullptr; slot = slot->next_of_key)
    standings_[slot->index].score_until = 0;
}

void CacheCore::forget_scores() noexcept {
  for (Standing& standing : standings_) standing.score_until = 0;
}

double CacheCore::score(KeyRecord& record, const Slot& slot, std::size_t spare) noexcept {
  // A score that holds is the same number whenever it is computed, so that equal ones stay equal.
  const Policy& policy = this->policy();
  const std::uint64_t now = policy.aging == Aging::holds ? record.use.last_use : epoch_.load(std::memory_order_relaxed);
  const std::uint64_t age = now > record.use.last_use ? now - record.use.last_use : 0;
  return policy.score({.build_cost = record.use.build_cost,
                       .size = size_of(slot),
                       .uses = record.use.uses,
                       .age = static_cast<double>(age),
                       .return_rate = returns_->return_rate(record.use, epoch_.load(std::memory_order_relaxed)),
                       .spare = spare,
                       .inflation = record.use.inflation});
}

bool CacheCore::evict(Slot& slot, EvictionCause cause, Retired& retired) noexcept {
  if (slot.captured.load(std::memory_order_relaxed) || !slot.retire_idle()) return false;
  slot.cause = cause;
  take_out(slot, retired);
  return true;
}

void CacheCore::condemn(Slot& slot, EvictionCause cause, bool forget, Retired& retired) noexcept {
  // Its owner reads why it goes without the mutex.
  if (slot.stage == Slot::Stage::leaving) return;
  if (!slot.condemned) slot.cause = cause;
  slot.condemned = true;
  if (forget) {
    slot.forget.store(true, std::memory_order_relaxed);
    slot.cause = cause;
  }
  if (slot.stage != Slot::Stage::live) return;
  note_change_of_leased(slot);
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
  const bool for_the_budget =
      slot.cause == EvictionCause::budget || slot.cause == EvictionCause::per_key || slot.cause == EvictionCause::bytes;
  if (guard_ != nullptr && !for_the_budget) guard_->forget(slot.hash);
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

}  // namespace larder::detail
