// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latency of hits while another thread's misses evict handles whose destroy takes 20 ms.
//
// Requests are due every 20 us whether or not the last one is done, and latency counts from when a request was due: a
// stalled cache delays all requests of that time, not just one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "keys.hpp"
#include "peers/peers.hpp"
#include "suites.hpp"

namespace larder::bench {

namespace {

using Key = std::uint64_t;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

template <class Cache>
struct SlowDestroys : Shared<Cache, SlowDestroys<Cache>> {
  static Room room(const benchmark::State& /*state*/) { return {16, 2}; }

  static void run(benchmark::State& state) {
    constexpr Key hot = 0;
    for (Key key = 0; key < 18; ++key) touch_key(key);
    for (int again = 0; again < 1000; ++again) touch_key(hot);
    Widget::destroy_takes = 20ms;
    std::vector<double> latencies;
    {
      const std::jthread evicting([](const std::stop_token& stop) {
        for (Key fresh = 1000; !stop.stop_requested(); ++fresh) {
          touch_key(fresh);
          std::this_thread::sleep_for(20ms);
        }
      });
      for (auto _ : state) {
        latencies.clear();
        Clock::time_point due = Clock::now();
        const Clock::time_point end = due + 400ms;
        for (; due < end; due += 20us) {
          // Yielding would measure the scheduler.
          while (Clock::now() < due) {
          }
          touch_key(hot);
          latencies.push_back(std::chrono::duration<double, std::nano>(Clock::now() - due).count());
        }
        state.SetIterationTime(percentile(latencies, 0.5) * 1e-9);
      }
    }
    Widget::destroy_takes = 0us;
    state.counters["p50_ns"] = percentile(latencies, 0.5);
    state.counters["p99_ns"] = percentile(latencies, 0.99);
    state.counters["p99.9_ns"] = percentile(latencies, 0.999);
  }

 private:
  static void touch_key(Key key) {
    auto lease = SlowDestroys::cache->acquire(key);
    touch(lease);
  }

  static double percentile(std::vector<double>& sample, double part) {
    const auto rank = sample.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(sample.size() - 1));
    std::nth_element(sample.begin(), rank, sample.end());
    return *rank;
  }
};

}  // namespace

void register_slow_destroys() {
  for_each_peer<Key>([]<class Cache>() {
    benchmark::RegisterBenchmark((std::string("slow_destroys/") + Cache::name).c_str(), SlowDestroys<Cache>::run)
        ->Setup(SlowDestroys<Cache>::set_up)
        ->Teardown(SlowDestroys<Cache>::tear_down)
        ->UseManualTime()
        ->Iterations(1);
  });
}

}  // namespace larder::bench
