// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bursts of short-lived threads, 100 requests each, for a cache that remembers things per thread. The floor is the same
// threads with nothing to do.
#include <cstdint>
#include <thread>
#include <vector>

#include "keys.hpp"
#include "peers/peers.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

using Key = std::uint64_t;

template <class Work>
void burst(benchmark::State& state, const Work& work) {
  const auto threads = static_cast<Key>(state.range(0));
  for (auto _ : state) {
    std::vector<std::jthread> running;
    for (Key thread = 0; thread < threads; ++thread) running.emplace_back([&work, thread] { work(thread); });
  }
}

template <class Cache>
struct Burst : Shared<Cache, Burst<Cache>> {
  static Room room(const benchmark::State& state) { return {64, static_cast<std::size_t>(state.range(0))}; }

  static void run(benchmark::State& state) {
    burst(state, [](Key key) {
      for (int request = 0; request < 100; ++request) {
        auto lease = Burst::cache->acquire(key);
        touch(lease);
      }
    });
  }
};

void idle_burst(benchmark::State& state) {
  burst(state, [](Key) {});
}

void set_sizes(benchmark::internal::Benchmark* added) {
  added->UseRealTime()->ArgName("burst")->Arg(1)->Arg(4)->Arg(16);
}

}  // namespace

void register_short_threads() {
  for_each_peer<Key>([]<class Cache>() { set_sizes(add<Burst<Cache>>("short_threads", Cache::name)); });
  set_sizes(benchmark::RegisterBenchmark("short_threads/floor", idle_burst));
}

}  // namespace larder::bench
