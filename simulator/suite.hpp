// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suite: every pattern with every cost model that tells policies apart, under byte budgets that are tight and wide.
//
// A case is one trace under one budget: a share of the bytes that one handle of every key of the trace would hold. Every
// policy is replayed on every case, and what it spends on builds is divided by the reference of the case: the offline
// bound, or what gds spends. The cases, their order and their results do not depend on the number of threads.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <larder/policy.hpp>
#include <string>
#include <vector>

#include "costs.hpp"
#include "generators.hpp"

namespace larder::simulator {

/// Cost models of the suite; with `equal`, policies that know costs have nothing to know.
inline constexpr std::array suite_cost_models{CostModel::independent, CostModel::growing, CostModel::falling,
                                              CostModel::measured};

/// Budgets of the suite, in percent of the bytes of one handle of every key.
inline constexpr std::array<std::size_t, 4> suite_budgets{5, 10, 20, 40};

/// Whether this build has the offline bound, which needs LEMON.
[[nodiscard]] bool has_offline_bound() noexcept;

struct SuiteSettings {
  std::vector<Policy> policies{Policy::value, Policy::lru, Policy::gds};
  std::uint64_t seeds = 3;
  std::uint64_t first_seed = 100;
  std::uint64_t requests = 5000;  ///< of each trace, over the 400 keys of TraceSettings
  bool with_bound = false;        ///< divide by the offline bound; else by gds
  unsigned jobs = 1;              ///< threads, at least 1
};

/// One trace under one budget.
struct SuiteCase {
  Pattern pattern;
  CostModel costs;
  std::uint64_t seed;
  std::size_t budget_percent;
  std::size_t budget_bytes = 0;
  std::chrono::nanoseconds reference{0};
  std::vector<std::chrono::nanoseconds> builds = {};  ///< of each contestant
};

struct SuiteResult {
  /// The policies; with the bound also "offline", a schedule that knows the future: the bound is not above that.
  std::vector<std::string> contestants;
  std::vector<SuiteCase> cases;
};

/// Runs the suite.
///
/// @param progress  called after each trace with their number so far, by one thread at a time
/// @throws InvalidArgument when a setting is out of range, or the bound is asked for and not there
[[nodiscard]] SuiteResult run_suite(const SuiteSettings& settings, const std::function<void(std::uint64_t)>& progress);

/// Build cost / reference over some cases.
struct Ratio {
  double mean;  ///< geometric; NaN over no case
  double worst;
};

[[nodiscard]] Ratio ratio(const SuiteResult& result, std::size_t contestant,
                          const std::function<bool(const SuiteCase&)>& counts);

}  // namespace larder::simulator
