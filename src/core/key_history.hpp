// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KeyHistory: what is remembered of keys whose last handle has left the cache, bounded.
//
// Keyed by the key's 64-bit hash, since the key itself may be large: two keys of one hash would share their memory, which
// can only make a score worse. The entry remembered longest ago is forgotten first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include <larder/detail/key_record.hpp>

#include "return_model.hpp"

namespace larder::detail {

class KeyHistory {
 public:
  /// @param model  hears of keys that are forgotten without having come again
  explicit KeyHistory(ReturnModel& model) : model_(model) {}

  /// Remembers; what does not fit, or finds no memory, is forgotten.
  void remember(std::uint64_t hash, const KeyUse& use, std::size_t capacity, std::uint64_t time) noexcept;

  /// Gives back what is remembered and forgets it; a blank KeyUse when nothing is.
  [[nodiscard]] KeyUse take(std::uint64_t hash) noexcept;

 private:
  struct Entry {
    KeyUse use;
    std::uint64_t order = 0;
  };

  void trim(std::size_t capacity, std::uint64_t time) noexcept;

  ReturnModel& model_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> oldest_first_;  // {hash, order}; stale where the orders differ
  std::uint64_t next_order_ = 0;
};

}  // namespace larder::detail
