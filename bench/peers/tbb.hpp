// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneTBB's concurrent_lru_cache (a preview feature). It shares what it hands out, takes its keys by value and in an order,
// and destroys inside the section that one thread runs for all.
#pragma once

#define TBB_PREVIEW_CONCURRENT_LRU_CACHE 1
#include <oneapi/tbb/concurrent_lru_cache.h>

#include <functional>
#include <memory>

#include "widget.hpp"

namespace larder::bench {

template <class Key>
class TbbLru {
  struct Ordered {
    Key key;
    // Keys whose hashes are equal count as one; no two keys of the benchmarks have equal hashes.
    friend bool operator<(const Ordered& a, const Ordered& b) noexcept {
      return std::hash<Key>{}(a.key) < std::hash<Key>{}(b.key);
    }
  };
  using Value = std::shared_ptr<Widget>;  // the cache copies an empty value into each new entry
  using Cache = tbb::concurrent_lru_cache<Ordered, Value, Value (*)(Ordered)>;

 public:
  static constexpr const char* name = "tbb_lru";
  static constexpr bool exclusive = false;

  class Lease {
   public:
    explicit Lease(typename Cache::handle&& handle) noexcept : handle_(std::move(handle)) {}
    [[nodiscard]] Widget* operator*() noexcept { return handle_.value().get(); }

   private:
    typename Cache::handle handle_;
  };

  explicit TbbLru(Room room)
      : cache_([](Ordered ordered) { return std::make_shared<Widget>(std::hash<Key>{}(ordered.key)); }, room.idle) {}

  [[nodiscard]] Lease acquire(const Key& key) { return Lease(cache_[Ordered{key}]); }

 private:
  Cache cache_;
};

}  // namespace larder::bench
