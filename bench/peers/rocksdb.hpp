// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two caches of RocksDB. They map 16 bytes to a pointer, share what they hand out, and count what is in use in their
// capacity; two threads that miss one key at once both build.
#pragma once

#include <rocksdb/cache.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "../keys.hpp"
#include "widget.hpp"

namespace larder::bench {

/// As many shards as leave each some room, up to the 64 that RocksDB takes for a large cache.
[[nodiscard]] inline int rocksdb_shard_bits(std::size_t capacity) {
  constexpr std::size_t least_room_of_a_shard = 16;
  const std::size_t shards = std::clamp<std::size_t>(capacity / least_room_of_a_shard, 1, 64);
  return static_cast<int>(std::bit_width(shards)) - 1;
}

struct RocksDbLru {
  static constexpr const char* name = "rocksdb_lru";
  [[nodiscard]] static std::shared_ptr<rocksdb::Cache> make(std::size_t capacity) {
    rocksdb::LRUCacheOptions options;
    options.capacity = capacity;
    options.num_shard_bits = rocksdb_shard_bits(capacity);
    options.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
    return rocksdb::NewLRUCache(options);
  }
};

struct RocksDbHyperClock {
  static constexpr const char* name = "rocksdb_hyper_clock";
  [[nodiscard]] static std::shared_ptr<rocksdb::Cache> make(std::size_t capacity) {
    return rocksdb::HyperClockCacheOptions(capacity, /*estimated_entry_charge=*/1, rocksdb_shard_bits(capacity),
                                           /*strict_capacity_limit=*/false, nullptr, rocksdb::kDontChargeCacheMetadata)
        .MakeSharedCache();
  }
};

template <class Key, class Kind>
class RocksDb {
 public:
  static constexpr const char* name = Kind::name;
  static constexpr bool exclusive = false;

  class Lease {
   public:
    Lease(rocksdb::Cache& cache, rocksdb::Cache::Handle* handle) noexcept : cache_(&cache), handle_(handle) {}
    Lease(Lease&& other) noexcept : cache_(other.cache_), handle_(std::exchange(other.handle_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (handle_ != nullptr) cache_->Release(handle_);
    }
    [[nodiscard]] Widget* operator*() const noexcept { return static_cast<Widget*>(cache_->Value(handle_)); }

   private:
    rocksdb::Cache* cache_;
    rocksdb::Cache::Handle* handle_;
  };

  explicit RocksDb(Room room) : cache_(Kind::make(room.idle + room.leased)) {}

  [[nodiscard]] Lease acquire(const Key& key) {
    const std::array<std::uint64_t, 2> bytes = KeyKind<Key>::in_16_bytes(key);
    const rocksdb::Slice slice(reinterpret_cast<const char*>(bytes.data()), sizeof bytes);
    rocksdb::Cache::Handle* handle = cache_->Lookup(slice);
    if (handle == nullptr) {
      auto widget = std::make_unique<Widget>(std::hash<Key>{}(key));
      const auto destroy = [](const rocksdb::Slice&, void* value) { delete static_cast<Widget*>(value); };
      const rocksdb::Status status = cache_->Insert(slice, widget.get(), /*charge=*/1, destroy, &handle);
      if (!status.ok()) throw std::runtime_error("rocksdb: " + status.ToString());
      (void)widget.release();
    }
    return Lease(*cache_, handle);
  }

 private:
  std::shared_ptr<rocksdb::Cache> cache_;
};

}  // namespace larder::bench
