// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where this thread last returned a handle of a key: a small set-associative table, so that a hit looks nothing up.
//
// Invariant: at most one entry per key, the handle returned last, so that what a thread asks for again is what it returned
// last. Entries of caches that are gone are harmless: cache ids are never reused, so such an entry is never followed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <larder/detail/slot.hpp>

namespace larder::detail {

struct Remembered {
  std::uint64_t cache = 0;  // 0: empty
  std::uint64_t hash = 0;
  Slot* slot = nullptr;
  Word word = 0;  // the slot's word when it was returned

  friend bool operator==(const Remembered&, const Remembered&) = default;
  [[nodiscard]] bool is_of(std::uint64_t its_cache, std::uint64_t its_hash) const noexcept {
    return hash == its_hash && cache == its_cache;
  }
};

struct ThreadMemory {
  static constexpr unsigned set_bits = 6;
  // With 4 ways, 8 keys of one thread find no room once in some hundred thousand cases; with 1, in every other.
  static constexpr std::size_t ways = 4;
  using Set = std::array<Remembered, ways>;

  static constexpr std::size_t tick_counters = 16;

  std::array<Set, std::size_t{1} << set_bits> sets;
  const Remembered* last_found = nullptr;  // in sets
  // Returns by this thread, to each cache: they are ordered without a clock or a shared counter. Caches whose ids agree
  // modulo 16 share one, and then seem to each other to be used more often.
  std::array<std::uint64_t, tick_counters> ticks{};

  [[nodiscard]] std::uint64_t& tick_of(std::uint64_t cache) noexcept { return ticks[cache % tick_counters]; }
};

inline constinit thread_local ThreadMemory thread_memory{};

/// What a thread remembers a handle of stream-ordered work by: it looks for one that its stream used last.
[[nodiscard]] constexpr std::uint64_t hash_on_stream(std::uint64_t hash, std::uint64_t stream) noexcept {
  return hash ^ (stream * 0x9e3779b97f4a7c15U);
}

[[nodiscard]] inline ThreadMemory::Set& remembered_set(std::uint64_t cache, std::uint64_t hash) noexcept {
  // Multiplicative hashing spreads keys whose hash is the identity; the cache id keeps two caches' equal keys apart.
  return thread_memory.sets[((hash + cache) * 0x9e3779b97f4a7c15U) >> (64 - ThreadMemory::set_bits)];
}

[[nodiscard]] inline const Remembered* find_remembered(std::uint64_t cache, std::uint64_t hash) noexcept {
  for (const Remembered& entry : remembered_set(cache, hash)) {
    if (entry.is_of(cache, hash)) return thread_memory.last_found = &entry;
  }
  return nullptr;
}

/// Replaces what is remembered of that key, or else the entry of its set that was made first.
inline void remember(const Remembered& returned) noexcept {
  // What is leased and returned with nothing in between is there as it was.
  if (thread_memory.last_found != nullptr && *thread_memory.last_found == returned) return;
  ThreadMemory::Set& set = remembered_set(returned.cache, returned.hash);
  for (Remembered& entry : set) {
    if (entry.is_of(returned.cache, returned.hash)) {
      entry.slot = returned.slot;
      entry.word = returned.word;
      return;
    }
  }
  for (std::size_t way = ThreadMemory::ways - 1; way > 0; --way) set[way] = set[way - 1];
  set[0] = returned;
}

}  // namespace larder::detail
