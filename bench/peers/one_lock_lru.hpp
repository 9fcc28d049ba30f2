// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OneLockLru: the usual plan cache. One mutex over a hash table and a list in order of use; builds and destroys under
// that mutex. Two things are better than usual: a hit allocates nothing, and handles are checked out exclusively.
//
// Every entry is in the table, and in `idle_` (newest first) or in `leased_`; moving between the two moves a list node.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "widget.hpp"

namespace larder::bench {

template <class Key>
class OneLockLru {
  struct Entry {
    Key key;
    std::unique_ptr<Widget> widget;
    bool leased = true;
  };
  using Position = typename std::list<Entry>::iterator;

 public:
  static constexpr const char* name = "one_lock_lru";
  static constexpr bool exclusive = true;

  class Lease {
   public:
    Lease(OneLockLru& cache, Position entry) noexcept : cache_(&cache), entry_(entry) {}
    Lease(Lease&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)), entry_(other.entry_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (cache_ != nullptr) cache_->give_back(entry_);
    }
    [[nodiscard]] Widget* operator*() const noexcept { return entry_->widget.get(); }

   private:
    OneLockLru* cache_;
    Position entry_;
  };

  explicit OneLockLru(Room room) : max_idle_(room.idle) {}

  [[nodiscard]] Lease acquire(const Key& key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto [entry, last] = index_.equal_range(key); entry != last; ++entry) {
      const Position found = entry->second;
      if (found->leased) continue;
      found->leased = true;
      leased_.splice(leased_.begin(), idle_, found);
      return Lease(*this, found);
    }
    leased_.push_front({key, std::make_unique<Widget>(std::hash<Key>{}(key))});
    index_.emplace(key, leased_.begin());
    return Lease(*this, leased_.begin());
  }

 private:
  void give_back(Position entry) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entry->leased = false;
    idle_.splice(idle_.begin(), leased_, entry);
    while (idle_.size() > max_idle_) {
      const Position oldest = std::prev(idle_.end());
      auto [indexed, last] = index_.equal_range(oldest->key);
      while (indexed != last && indexed->second != oldest) ++indexed;
      index_.erase(indexed);
      idle_.erase(oldest);
    }
  }

  std::mutex mutex_;
  std::list<Entry> idle_;
  std::list<Entry> leased_;
  std::unordered_multimap<Key, Position> index_;
  std::size_t max_idle_;
};

}  // namespace larder::bench
