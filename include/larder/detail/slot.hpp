// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slot: the place of one live handle, and the protocol by which threads share it.
//
// One atomic word holds {generation, retiring, unlocked, plain, leases}. Slots are type-stable: a slot is freed only with its
// cache, so a thread may try to claim a slot it remembers without looking anything up.
//
// States (R = retiring, U = unlocked, n = leases):
//
//   owned    R=1        n=0   vacant, building or being destroyed: belongs to one thread, or to the free list
//   idle     R=0  U=0/1 n=0   in the cache and free
//   leased   R=0  U=0/1 n>0   out on n leases (n is 1 unless the handles are shared)
//   retiring R=1  U=0   n>0   leased, but to be destroyed or forgotten by whoever returns the last lease
//
// P (plain, only with U=1, exclusive handles only): the return may be a plain store in a restartable sequence instead of a
// compare-exchange; see plain_return.hpp. Such a store may undo a change that was made to the leased word meanwhile. So who
// changes a word that is leased with P=1 clears P, interrupts the returns, and looks whether the change has stayed. That
// costs microseconds: P is given only while no such change was made lately.
//
// Transitions, by whom:
//
//   any thread, no lock    idle U=1   -> leased U=1      claim()            compare-exchange, generation must match
//                          leased U=1 -> leased U=1      claim_shared()     n+1
//                          leased     -> leased          try_return()       n-1, other leases remain
//                          leased U=1 -> idle U=1        try_return()       last lease
//                                                        or try_plain_return()  with P=1
//   with the cache mutex   idle       -> leased          claim_locked()     U as the budget allows
//                          leased     -> leased          claim_locked()     shared: n+1
//                          idle U=1   -> idle U=0        set_free_bits()    keeps its place, but every claim takes the mutex
//                          leased U=0 -> idle            keep()             last lease
//                          leased U=0 <-> leased U=1     set_free_bits()    gives the handle a place in the budget, or takes it
//                          leased P=0 <-> leased P=1     set_free_bits(),   by the one lease's owner
//                                                        clear_plain()
//                          idle       -> owned           retire_idle()      the caller destroys the handle
//                                                        or retire()
//                          leased     -> retiring        retire()           U cleared: the last return takes the mutex
//                          n > 1      -> n-1             drop_if_not_last() leased or retiring
//                          retiring   -> owned           drop_last()        the caller destroys the handle
//                          owned      -> leased          publish()          the handle was built
//                          owned      -> owned           vacate()           generation+1: every remembered claim now fails
//
// Invariant that keeps the budget exact: the handles that are idle, or leased with U=1, never exceed the budget, and
// membership of that set changes only with the mutex held. So a return with U=1 cannot break the budget.
// Fields marked "owner" are touched only by the thread that owns or exclusively leases the slot; relaxed atomics among
// them may be read by others as hints or counters.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <tuple>

#include <larder/detail/plain_return.hpp>
#include <larder/stats.hpp>

namespace larder::detail {

struct KeyRecord;

using Word = std::uint64_t;

inline constexpr Word lease_one = 1;
inline constexpr Word lease_mask = (Word{1} << 29) - 1;
inline constexpr Word plain_bit = Word{1} << 29;
inline constexpr Word unlocked_bit = Word{1} << 30;
inline constexpr Word free_bits = unlocked_bit | plain_bit;  // what lets threads claim and return without the mutex
inline constexpr Word retiring_bit = Word{1} << 31;
inline constexpr Word generation_one = Word{1} << 32;
inline constexpr Word generation_mask = ~(generation_one - 1);

[[nodiscard]] constexpr Word leases(Word word) noexcept { return word & lease_mask; }
[[nodiscard]] constexpr Word generation(Word word) noexcept { return word & generation_mask; }
[[nodiscard]] constexpr bool retiring(Word word) noexcept { return (word & retiring_bit) != 0; }
[[nodiscard]] constexpr bool unlocked(Word word) noexcept { return (word & unlocked_bit) != 0; }
[[nodiscard]] constexpr bool plain(Word word) noexcept { return (word & plain_bit) != 0; }

/// Whether a return under way may undo a change of this word.
[[nodiscard]] constexpr bool may_be_undone(Word word) noexcept { return plain(word) && leases(word) > 0; }

class alignas(64) Slot {
 public:
  Slot() noexcept = default;
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  // --- Without the mutex ---------------------------------------------------------------------------------------------

  /// Claims an exclusive handle that was idle with exactly this word.
  [[nodiscard]] bool claim(Word idle_word) noexcept {
    return word_.compare_exchange_strong(idle_word, idle_word + lease_one, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  /// Adds a lease to a shared handle of that generation.
  [[nodiscard]] bool claim_shared(Word seen) noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (generation(word) == generation(seen) && unlocked(word)) {
      if (word_.compare_exchange_weak(word, word + lease_one, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Drops the lease of a handle with P=1, without a locked instruction; false when try_return() has to be tried.
  ///
  /// @param after  set to the slot's word after the drop
  [[nodiscard]] bool try_plain_return(Word& after) noexcept {
    const Word word = word_.load(std::memory_order_relaxed);
    after = word - lease_one;
    return plain(word) && store_in_sequence(word_, word, after);
  }

  /// Drops a lease, unless it is the last one and what follows needs the mutex.
  ///
  /// @param after  set to the slot's word after the drop
  [[nodiscard]] bool try_return(Word& after) noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (leases(word) > 1 || unlocked(word)) {
      if (word_.compare_exchange_weak(word, word - lease_one, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        after = word - lease_one;
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] Word word() const noexcept { return word_.load(std::memory_order_acquire); }

  // --- With the mutex of the cache held ------------------------------------------------------------------------------

  /// Adds a lease to an idle slot (or, shared, to a leased one); false when another thread got it first or it is retiring.
  [[nodiscard]] bool claim_locked(bool shared) noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (!retiring(word) && (shared || leases(word) == 0)) {
      if (word_.compare_exchange_weak(word, word + lease_one, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Sets those of U and P that are in `bits`, or clears both if there are none; false when the slot is retiring or, with
  /// `only_leased`, not leased. P is set by the owner of a lease.
  bool set_free_bits(Word bits, bool only_leased = false) noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (!retiring(word) && !(only_leased && leases(word) == 0)) {
      const Word wanted = bits != 0 ? (word | bits) : (word & ~free_bits);
      if (wanted == word || change(word, wanted)) return true;
    }
    return false;
  }

  /// idle -> owned; false when the slot is not idle.
  [[nodiscard]] bool retire_idle() noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (!retiring(word) && leases(word) == 0) {
      if (change(word, (word & ~free_bits) | retiring_bit)) return true;
    }
    return false;
  }

  /// Whether the caller now owns the slot (it was idle); otherwise whoever returns the last lease will.
  [[nodiscard]] bool retire() noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (!change(word, (word & ~free_bits) | retiring_bit)) {
    }
    return leases(word) == 0;
  }

  /// By the owner of a lease, who does not return it now: of a handle with P=1 it is the only one, so no return is to be
  /// interrupted.
  void clear_plain() noexcept {
    if (plain(word_.load(std::memory_order_relaxed))) word_.fetch_and(~plain_bit, std::memory_order_relaxed);
  }

  /// Drops a lease while others remain; false when the caller's is the last (U must be 0 then, so it stays the last).
  [[nodiscard]] bool drop_if_not_last() noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (leases(word) > 1) {
      if (word_.compare_exchange_weak(word, word - lease_one, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// leased U=0, last lease -> idle, with U and P as in `bits`; gives the new word.
  Word keep(Word bits) noexcept {
    const Word word = word_.load(std::memory_order_relaxed);
    const Word idle = generation(word) | bits;
    word_.store(idle, std::memory_order_release);
    return idle;
  }

  /// retiring, last lease -> owned.
  void drop_last() noexcept {
    const Word word = word_.load(std::memory_order_acquire);
    word_.store(generation(word) | retiring_bit, std::memory_order_relaxed);
  }

  /// owned -> leased, `count` times, with U and P as in `bits`.
  void publish(Word count, Word bits) noexcept {
    const Word word = word_.load(std::memory_order_relaxed);
    word_.store(generation(word) | bits | count, std::memory_order_release);
  }

  /// owned -> owned under a new generation.
  void vacate() noexcept {
    const Word word = word_.load(std::memory_order_relaxed);
    word_.store((generation(word) + generation_one) | retiring_bit, std::memory_order_release);
  }

 private:
  /// Changes the word from what it was seen to be; false, with what it is instead, when it has become something else.
  [[nodiscard]] bool change(Word& word, Word wanted) noexcept {
    const bool undone = may_be_undone(word);
    if (!word_.compare_exchange_weak(word, wanted, std::memory_order_acq_rel, std::memory_order_relaxed)) return false;
    if (!undone) return true;
    interrupt_returns();
    word = word_.load(std::memory_order_acquire);
    return word == wanted;
  }

  std::atomic<Word> word_{retiring_bit};

 public:
  KeyRecord* record = nullptr;          // owner; stable while the slot is live
  std::uint64_t hash = 0;               // owner
  std::atomic<std::uint64_t> epoch{0};  // owner; when it was last returned: epoch first, then tick
  std::atomic<std::uint64_t> tick{0};   // owner
  std::atomic<std::uint64_t> hits{0};   // owner; total over the slot's life, never reset
  std::atomic<std::size_t> bytes{0};    // owner, with the mutex held
  std::atomic<bool> forget{false};      // with the mutex held, before R is set: abandoned at the end, not destroyed

  // Everything below: with the mutex held. Up to `index` it is in the first cache line, which is all of a slot that the
  // choice of a victim reads.
  enum class Stage : std::uint8_t { vacant, building, live, leaving };
  Stage stage = Stage::vacant;
  bool in_budget = false;   // idle, or leased with U=1
  bool alone = false;       // its key has no other slot
  std::uint32_t index = 0;  // of its Standing
  bool condemned = false;   // cleared or invalidated while leased or building
  EvictionCause cause = EvictionCause::cleared;
  Slot* next_of_key = nullptr;
  Slot* next = nullptr;                    // in the free list, or in the retired list of one call
  std::chrono::nanoseconds idle_since{0};  // only while an age budget is set
  std::thread::id owner;                   // the thread that builds or destroys the handle

  // For release_deferred: the list's link, and for shared handles how many leases wait in it.
  Slot* next_deferred = nullptr;
  std::atomic<std::uint32_t> deferred{0};

  // For handles whose work runs on streams.
  std::atomic<std::uint64_t> stream{0};  // owner; id of the stream that its last lease was for, if any
  std::atomic<bool> captured{false};     // owner; a captured graph uses the handle: it is out of the budget, and stays
};

/// When a handle was returned: the order that LRU and LIFO go by.
[[nodiscard]] inline std::tuple<std::uint64_t, std::uint64_t> returned_at(const Slot& slot) noexcept {
  return {slot.epoch.load(std::memory_order_relaxed), slot.tick.load(std::memory_order_relaxed)};
}

[[nodiscard]] inline bool is_idle(const Slot& slot) noexcept {
  const Word word = slot.word();
  return !retiring(word) && leases(word) == 0;
}

}  // namespace larder::detail
