// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <larder/budget.hpp>
#include <larder/error.hpp>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include "bound.hpp"
#include "replay.hpp"

namespace larder::simulator {

namespace {

constexpr std::uint64_t most_seeds = 10000;

std::chrono::nanoseconds build_time(const std::vector<TraceRow>& rows, const Policy& policy, const Budget& budget) {
  Replay replay(policy, budget);
  for (const TraceRow& row : rows) replay.request(row);
  return replay.stats().build_time;
}

/// Fills in all of a case but what says which case it is.
void run_case(SuiteCase& each, const std::vector<TraceRow>& rows, std::size_t distinct_bytes,
              const SuiteSettings& settings) {
  each.budget_bytes = distinct_bytes * each.budget_percent / 100;
  const Budget budget{.max_idle_bytes = each.budget_bytes};
  for (const Policy& policy : settings.policies) each.builds.push_back(build_time(rows, policy, budget));
#ifdef LARDER_HAVE_BOUND
  if (settings.with_bound) {
    const OfflineBound offline = offline_bound(rows, budget);
    each.reference = offline.bound;
    each.builds.push_back(offline.feasible);
    return;
  }
#endif
  each.reference = build_time(rows, Policy::gds, budget);
}

/// The cases of one trace lie one after the other.
void run_trace(SuiteCase* cases, const SuiteSettings& settings) {
  const std::vector<TraceRow> rows =
      generate({.pattern = cases->pattern, .requests = settings.requests, .seed = cases->seed, .costs = cases->costs});
  std::size_t distinct_bytes = 0;
  std::unordered_set<std::string_view> seen;
  for (const TraceRow& row : rows) {
    if (seen.insert(row.key).second) distinct_bytes += row.bytes;
  }
  for (std::size_t i = 0; i < suite_budgets.size(); ++i) run_case(cases[i], rows, distinct_bytes, settings);
}

void check(const SuiteSettings& settings) {
  if (settings.seeds < 1 || settings.seeds > most_seeds) {
    throw InvalidArgument(fmt::format("seeds {} is out of range; give 1 to {}", settings.seeds, most_seeds));
  }
  if (settings.with_bound && !has_offline_bound()) {
    throw InvalidArgument("the offline bound is not there: this larder was built without LEMON (liblemon-dev)");
  }
}

}  // namespace

bool has_offline_bound() noexcept {
#ifdef LARDER_HAVE_BOUND
  return true;
#else
  return false;
#endif
}

SuiteResult run_suite(const SuiteSettings& settings, const std::function<void(std::uint64_t)>& progress) {
  check(settings);
  SuiteResult result;
  for (const Policy& policy : settings.policies) result.contestants.emplace_back(policy.name);
  if (settings.with_bound) result.contestants.emplace_back("offline");
  for (const Pattern pattern : patterns) {
    for (const CostModel costs : suite_cost_models) {
      for (std::uint64_t seed = 0; seed < settings.seeds; ++seed) {
        for (const std::size_t percent : suite_budgets) {
          result.cases.push_back(
              {.pattern = pattern, .costs = costs, .seed = settings.first_seed + seed, .budget_percent = percent});
        }
      }
    }
  }

  const std::size_t traces = result.cases.size() / suite_budgets.size();
  std::mutex mutex;  // guards what follows, and calls of progress
  std::size_t started = 0;
  std::size_t finished = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (started < traces && failure == nullptr) {
      SuiteCase* const cases = &result.cases[started++ * suite_budgets.size()];
      lock.unlock();
      std::exception_ptr failed;
      try {
        run_trace(cases, settings);
      } catch (...) {
        failed = std::current_exception();
      }
      lock.lock();
      if (failed != nullptr) {
        failure = failed;
      } else {
        progress(++finished);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min<std::size_t>(settings.jobs, traces); ++i) others.emplace_back(work);
    work();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  return result;
}

Ratio ratio(const SuiteResult& result, std::size_t contestant, const std::function<bool(const SuiteCase&)>& counts) {
  double logarithms = 0;
  double worst = 0;
  double count = 0;
  for (const SuiteCase& each : result.cases) {
    if (!counts(each)) continue;
    const auto build = static_cast<double>(each.builds[contestant].count());
    const double to_reference = build / static_cast<double>(each.reference.count());
    logarithms += std::log(to_reference);
    worst = std::max(worst, to_reference);
    ++count;
  }
  return {std::exp(logarithms / count), worst};
}

}  // namespace larder::simulator
