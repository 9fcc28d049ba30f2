// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where this thread last returned a handle of a key: a small direct-mapped table, so that a hit looks nothing up.
//
// Entries of caches that are gone are harmless: cache ids are never reused, so such an entry is never followed.
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
};

struct ThreadMemory {
  static constexpr std::size_t size = 64;
  std::array<Remembered, size> entries;
  std::uint64_t tick = 0;  // returns by this thread: orders them without a clock or a shared counter
};

inline constinit thread_local ThreadMemory thread_memory{};

[[nodiscard]] inline Remembered& remembered(std::uint64_t cache, std::uint64_t hash) noexcept {
  // Multiplicative hashing spreads keys whose hash is the identity; the cache id keeps two caches' equal keys apart.
  return thread_memory.entries[((hash + cache) * 0x9e3779b97f4a7c15U) >> 58];
}

}  // namespace larder::detail
