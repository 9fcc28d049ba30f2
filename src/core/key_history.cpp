// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "key_history.hpp"

#include <new>

namespace larder::detail {

void KeyHistory::remember(std::uint64_t hash, const KeyUse& use, std::size_t capacity, std::uint64_t time) noexcept {
  try {
    const std::uint64_t order = next_order_++;
    oldest_first_.emplace_back(hash, order);
    entries_.insert_or_assign(hash, Entry{use, order});
  } catch (const std::bad_alloc&) {
    entries_.erase(hash);
  }
  trim(capacity, time);
}

KeyUse KeyHistory::take(std::uint64_t hash) noexcept {
  const auto found = entries_.find(hash);
  if (found == entries_.end()) return {};
  const KeyUse use = found->second.use;
  entries_.erase(found);
  return use;
}

void KeyHistory::trim(std::size_t capacity, std::uint64_t time) noexcept {
  // Stale links are dropped too, so the queue never outgrows twice the entries.
  while (!oldest_first_.empty() && (entries_.size() > capacity || oldest_first_.size() > 2 * capacity)) {
    const auto [hash, order] = oldest_first_.front();
    oldest_first_.pop_front();
    const auto found = entries_.find(hash);
    if (found == entries_.end() || found->second.order != order) continue;
    model_.note_no_use(found->second.use, time);
    entries_.erase(found);
  }
}

}  // namespace larder::detail
