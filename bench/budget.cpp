// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At the budget: more handles live than may be idle, and misses among hits.
#include <cstdint>
#include <string>
#include <vector>

#include "keys.hpp"
#include "peers/peers.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

using Key = std::uint64_t;

constexpr Key other_keys = Key{1} << 32;  // keys from here on belong to no thread

/// Many long leases beside the short ones: one library handle per thread, held for good.
template <class Cache>
struct LongLeases {
  static constexpr std::size_t held = 64;
  static constexpr std::size_t idle = 16;
  struct State {
    State() : cache({idle, held + idle}) {
      for (Key i = 0; i < held; ++i) leases.push_back(cache.acquire(other_keys + i));
    }
    Cache cache;
    std::vector<decltype(cache.acquire(Key{}))> leases;
  };
  static inline std::unique_ptr<State> shared;
  static void set_up(const benchmark::State& /*state*/) { shared = std::make_unique<State>(); }
  static void tear_down(const benchmark::State& /*state*/) { shared.reset(); }

  static void run(benchmark::State& state) {
    const Key key = static_cast<Key>(state.thread_index());
    for (int pass = 0; pass < 2; ++pass) {
      auto lease = shared->cache.acquire(key);
      touch(lease);
    }
    const BuildsPerRequest builds;
    for (auto _ : state) {
      auto lease = shared->cache.acquire(key);
      touch(lease);
    }
    builds.report(state);
  }
};

/// Half as many idle handles allowed as there are threads, each of which holds its handle most of the time.
template <class Cache>
struct BusyThreads : Shared<Cache, BusyThreads<Cache>> {
  static Room room(const benchmark::State& state) {
    const auto threads = static_cast<std::size_t>(state.threads());
    return {(threads + 1) / 2, threads};
  }

  static void run(benchmark::State& state) {
    const Key key = static_cast<Key>(state.thread_index());
    const BuildsPerRequest builds;
    for (auto _ : state) {
      auto lease = BusyThreads::cache->acquire(key);
      for (int use = 0; use < 200; ++use) touch(lease);
    }
    builds.report(state);
  }
};

/// Every `period`-th request of a thread is for a key that was never asked for before, the others for 4 keys of its own.
template <class Cache, int period>
struct Churn : Shared<Cache, Churn<Cache, period>> {
  static constexpr Key hot_keys = 4;
  static Room room(const benchmark::State& state) { return {128, static_cast<std::size_t>(state.threads())}; }

  static void run(benchmark::State& state) {
    const Key thread = static_cast<Key>(state.thread_index());
    Key fresh = other_keys * (thread + 1);
    Key turn = 0;
    // Long enough that the budget is full and every hot key has been used more often than any other.
    for (int warm_up = 0; warm_up < 50 * period; ++warm_up, ++turn) {
      auto lease = Churn::cache->acquire(turn % period == 0 ? fresh++ : hot_keys * thread + turn % hot_keys);
      touch(lease);
    }
    const BuildsPerRequest builds;
    for (auto _ : state) {
      auto lease = Churn::cache->acquire(turn % period == 0 ? fresh++ : hot_keys * thread + turn % hot_keys);
      touch(lease);
      ++turn;
    }
    builds.report(state);
  }
};

template <template <class> class Suite>
void register_with(const std::string& suite) {
  for_each_peer<Key>([&]<class Cache>() { add_with_threads<Suite<Cache>>(suite, Cache::name); });
}

template <class Cache>
using OnePercent = Churn<Cache, 100>;
template <class Cache>
using TenPercent = Churn<Cache, 10>;

}  // namespace

void register_budget() {
  register_with<LongLeases>("live_above_budget.long_leases");
  register_with<BusyThreads>("live_above_budget.busy_threads");
  register_with<OnePercent>("churn.1_percent");
  register_with<TenPercent>("churn.10_percent");
}

}  // namespace larder::bench
