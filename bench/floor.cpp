// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a cache with a compare-exchange at both ends cannot go below: hashing the key, and two locked instructions on memory
// that no other thread touches.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "keys.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

void two_compare_exchanges(benchmark::State& state) {
  alignas(64) std::atomic<std::uint64_t> word{0};
  for (auto _ : state) {
    std::uint64_t idle = 0;
    benchmark::DoNotOptimize(word.compare_exchange_strong(idle, 1, std::memory_order_acquire));
    std::uint64_t leased = 1;
    benchmark::DoNotOptimize(word.compare_exchange_strong(leased, 0, std::memory_order_release));
  }
}

template <class Key>
void hash_key(benchmark::State& state) {
  const auto keys = make_keys<Key>(0, 8);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(std::hash<Key>{}(keys[next]));
    next = (next + 1) % keys.size();
  }
}

}  // namespace

void register_floor() {
  for (const char* const suite : {"own_keys.int", "own_keys.plan"}) {
    for (const int threads : thread_counts) {
      measure(benchmark::RegisterBenchmark((std::string(suite) + "/floor").c_str(), two_compare_exchanges), threads);
    }
  }
  measure(benchmark::RegisterBenchmark("hash_key.int/floor", hash_key<std::uint64_t>), 1);
  measure(benchmark::RegisterBenchmark("hash_key.plan/floor", hash_key<fft::PlanSpec>), 1);
}

}  // namespace larder::bench
