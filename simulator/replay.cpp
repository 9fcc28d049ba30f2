// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay.hpp"

#include <fmt/format.h>

#include <larder/handle_cache.hpp>

#include "open_leases.hpp"
#include "simulated_factory.hpp"

namespace larder::simulator {

namespace {

using TraceCache = HandleCache<SimulatedFactory<std::string>>;

}  // namespace

Budget exactly(Budget budget) noexcept {
  return {.max_idle = budget.max_idle.value_or(Budget::unlimited),
          .max_idle_per_key = budget.max_idle_per_key.value_or(Budget::unlimited),
          .max_idle_bytes = budget.max_idle_bytes.value_or(Budget::unlimited),
          .max_idle_age = budget.max_idle_age.value_or(Budget::unlimited_age)};
}

struct Replay::State {
  State(const Policy& policy, const Budget& budget)
      : cache(exactly(budget), {.policy = policy, .max_live = Budget::unlimited, .clock = &device.clock},
              SimulatedFactory<std::string>(device)) {}

  SimulatedDevice device;
  TraceCache cache;
  OpenLeases<Lease<SimulatedFactory<std::string>>> open;
  std::chrono::nanoseconds traced_build_time{0};
};

Replay::Replay(const Policy& policy, const Budget& budget) : state_(std::make_unique<State>(policy, budget)) {}
Replay::~Replay() = default;
Replay::Replay(Replay&&) noexcept = default;
Replay& Replay::operator=(Replay&&) noexcept = default;

void Replay::request(const TraceRow& row) {
  State& state = *state_;
  // Were every request a build, the clock would stand at this sum now: checking it here keeps the clock in range, and
  // finds the fault on the same line under every policy.
  if (row.build > std::chrono::nanoseconds::max() - row.time - state.traced_build_time) {
    throw InvalidArgument(
        fmt::format("time_ns {} plus every build_ns up to here is over 9223372036854775807", row.time.count()));
  }
  state.traced_build_time += row.build;

  state.open.end_until(row.time, [&state](std::chrono::nanoseconds end) { state.device.clock.advance_to(end); });
  state.device.clock.advance_to(row.time);
  state.device.next_build = {.time = row.build, .bytes = row.bytes};
  state.open.add(row.lease_end(), state.cache.acquire(row.key));
}

Stats Replay::stats() const { return state_->cache.stats(); }

std::vector<ReplayResult> replay(const std::string& path, const std::vector<Policy>& policies, const Budget& budget,
                                 const std::function<void(std::uint64_t)>& progress) {
  constexpr std::uint64_t requests_between_reports = 65536;
  TraceReader trace(path);
  std::vector<Replay> replays;
  replays.reserve(policies.size());
  for (const Policy& policy : policies) replays.emplace_back(policy, budget);

  std::uint64_t requests = 0;
  TraceRow row;
  while (trace.next(row)) {
    if (++requests % requests_between_reports == 0) progress(trace.bytes_read());
    try {
      for (Replay& each : replays) each.request(row);
    } catch (const InvalidArgument& fault) {
      trace.reject(fault.what());
    }
  }

  std::vector<ReplayResult> results;
  results.reserve(policies.size());
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Stats stats = replays[i].stats();
    results.push_back({policies[i].name, requests, stats.builds, stats.build_time});
  }
  return results;
}

}  // namespace larder::simulator
