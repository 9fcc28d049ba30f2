// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches of 16 to 10 000 idle handles: a hit on any one of them, and a miss that evicts one.
#include <cstdint>
#include <random>

#include "keys.hpp"
#include "peers/peers.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

using Key = std::uint64_t;

constexpr std::array idle_counts{16, 64, 256, 1000, 2000, 10000};

template <class Cache>
void fill(Cache& cache, Key count) {
  for (Key key = 0; key < count; ++key) {
    auto lease = cache.acquire(key);
    touch(lease);
  }
}

/// Room for a quarter more than is kept, since peers that are sharded fill unevenly.
template <class Cache>
struct HitOfMany : Shared<Cache, HitOfMany<Cache>> {
  static Room room(const benchmark::State& state) { return {static_cast<std::size_t>(state.range(0)) * 5 / 4 + 16, 1}; }

  static void run(benchmark::State& state) {
    const auto count = static_cast<Key>(state.range(0));
    fill(*HitOfMany::cache, count);
    std::minstd_rand random(1);
    std::vector<Key> order(4096);
    for (Key& key : order) key = random() % count;
    std::size_t next = 0;
    const BuildsPerRequest builds;
    for (auto _ : state) {
      auto lease = HitOfMany::cache->acquire(order[next]);
      touch(lease);
      next = (next + 1) % order.size();
    }
    builds.report(state);
  }
};

template <class Cache>
struct MissOfMany : Shared<Cache, MissOfMany<Cache>> {
  static Room room(const benchmark::State& state) { return {static_cast<std::size_t>(state.range(0)), 1}; }

  static void run(benchmark::State& state) {
    auto key = static_cast<Key>(state.range(0));
    fill(*MissOfMany::cache, key);
    for (auto _ : state) {
      auto lease = MissOfMany::cache->acquire(key++);
      touch(lease);
    }
  }
};

}  // namespace

void register_large() {
  for_each_peer<Key>([]<class Cache>() {
    auto* const hit = add<HitOfMany<Cache>>("hit_of_many", Cache::name)->ArgName("idle");
    auto* const miss = add<MissOfMany<Cache>>("miss_of_many", Cache::name)->ArgName("idle");
    for (const int count : idle_counts) {
      hit->Arg(count);
      miss->Arg(count);
    }
  });
}

}  // namespace larder::bench
