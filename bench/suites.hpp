// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suites, and what they share.
//
// A benchmark is named SUITE/PEER/ARGUMENTS..., so that one row of the table is one suite with its arguments and threads.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

#include "peers/widget.hpp"

namespace larder::bench {

void register_floor();          ///< what no cache can go below
void register_hits();           ///< own keys, the same keys, one key
void register_budget();         ///< live above the budget; misses among hits
void register_large();          ///< 16 to 10 000 idle handles
void register_short_threads();  ///< bursts of short-lived threads
void register_slow_destroys();  ///< latency of hits while destroys take long
void register_deferred();       ///< leases returned without a lock

inline constexpr std::array thread_counts{1, 2, 4, 8, 16};

/// One thread is measured by its processor time, which other work on the machine disturbs least; several by wall time,
/// since what they wait for each other is the question.
inline void measure(benchmark::internal::Benchmark* added, int threads) {
  added->Threads(threads);
  if (threads > 1) added->UseRealTime();
  // Each thread's clock starts when it first runs: with fewer processors than threads a run must outlast many time slices.
  constexpr double many_time_slices = 0.2;
  if (threads > static_cast<int>(std::thread::hardware_concurrency())) added->MinTime(many_time_slices);
}

template <class Suite>
benchmark::internal::Benchmark* add(const std::string& suite, const std::string& peer) {
  return benchmark::RegisterBenchmark((suite + "/" + peer).c_str(), Suite::run)
      ->Setup(Suite::set_up)
      ->Teardown(Suite::tear_down);
}

/// The suite with each number of threads.
template <class Suite>
void add_with_threads(const std::string& suite, const std::string& peer) {
  for (const int threads : thread_counts) measure(add<Suite>(suite, peer), threads);
}

/// The cache that all threads of the benchmark in progress use.
template <class Cache, class Workload>
struct Shared {
  static inline std::unique_ptr<Cache> cache;
  static void set_up(const benchmark::State& state) { cache = std::make_unique<Cache>(Workload::room(state)); }
  static void tear_down(const benchmark::State& /*state*/) { cache.reset(); }
};

/// Uses a widget as briefly as possible.
template <class Lease>
void touch(Lease& lease) {
  benchmark::DoNotOptimize((*lease)->value());
}

/// Counts the builds of this thread as a percentage of requests.
class BuildsPerRequest {
 public:
  void report(benchmark::State& state) const {
    state.counters["builds_percent"] = benchmark::Counter(100.0 * static_cast<double>(Widget::built_here - before_),
                                                          benchmark::Counter::kAvgIterations);
  }

 private:
  std::uint64_t before_ = Widget::built_here;
};

}  // namespace larder::bench
