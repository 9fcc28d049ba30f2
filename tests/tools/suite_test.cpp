// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suite on traces of 300 requests: which cases there are, and that nothing can beat the bound.
#include "simulator/suite.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <larder/error.hpp>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "simulator/replay.hpp"

namespace larder::simulator {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t traces_of_a_seed = patterns.size() * suite_cost_models.size();
constexpr std::uint64_t requests = 300;

SuiteResult run(SuiteSettings settings) {
  settings.requests = requests;
  return run_suite(settings, [](std::uint64_t) {});
}

const auto every_case = [](const SuiteCase&) { return true; };

TEST(Suite, RunsEveryPatternWithEveryCostModelBudgetAndSeed) {
  std::vector<std::uint64_t> progress;
  const SuiteResult result =
      run_suite({.policies = {Policy::lru}, .seeds = 2, .first_seed = 7, .requests = 20, .jobs = 2},
                [&](std::uint64_t done) { progress.push_back(done); });
  std::set<std::tuple<Pattern, CostModel, std::uint64_t, std::size_t>> cases;
  for (const SuiteCase& each : result.cases) cases.emplace(each.pattern, each.costs, each.seed, each.budget_percent);
  EXPECT_EQ(cases.size(), 8U * 4U * 2U * 4U);
  EXPECT_EQ(result.cases.size(), cases.size());
  for (const SuiteCase& each : result.cases) EXPECT_TRUE(each.seed == 7 || each.seed == 8);
  ASSERT_EQ(progress.size(), 2 * traces_of_a_seed);
  for (std::size_t i = 0; i < progress.size(); ++i) EXPECT_EQ(progress[i], i + 1);
}

TEST(Suite, CaseIsAReplayOfItsTraceUnderItsShareOfTheBytes) {
  const SuiteResult result = run({.policies = {Policy::lru}, .seeds = 1, .first_seed = 3});
  const SuiteCase& each = result.cases.at(5);  // the second trace, the second budget
  EXPECT_EQ(each.pattern, Pattern::zipf);
  EXPECT_EQ(each.costs, CostModel::growing);
  EXPECT_EQ(each.budget_percent, 10U);
  const auto rows = generate({.pattern = Pattern::zipf, .requests = requests, .seed = 3, .costs = CostModel::growing});
  std::map<std::string, std::size_t> bytes;
  for (const TraceRow& row : rows) bytes[row.key] = row.bytes;
  std::size_t all = 0;
  for (const auto& [key, size] : bytes) all += size;
  EXPECT_EQ(each.budget_bytes, all / 10);
  Replay replay(Policy::lru, {.max_idle_bytes = all / 10});
  for (const TraceRow& row : rows) replay.request(row);
  EXPECT_EQ(each.builds.at(0), replay.stats().build_time);
}

TEST(Suite, WithoutTheBoundGdsIsTheReference) {
  const SuiteResult result = run({.policies = {Policy::lru, Policy::gds}, .seeds = 1});
  const Ratio gds = ratio(result, 1, every_case);
  EXPECT_EQ(gds.mean, 1);
  EXPECT_EQ(gds.worst, 1);
  EXPECT_GT(ratio(result, 0, every_case).worst, 1);
}

TEST(Suite, ResultsDoNotDependOnTheNumberOfThreads) {
  const SuiteResult one = run({.seeds = 1, .jobs = 1});
  const SuiteResult three = run({.seeds = 1, .jobs = 3});
  ASSERT_EQ(one.cases.size(), three.cases.size());
  for (std::size_t i = 0; i < one.cases.size(); ++i) {
    EXPECT_EQ(one.cases[i].seed, three.cases[i].seed);
    EXPECT_EQ(one.cases[i].builds, three.cases[i].builds);
  }
}

TEST(Suite, NothingBeatsTheBound) {
  if (!has_offline_bound()) {
    EXPECT_THROW(static_cast<void>(run({.seeds = 1, .with_bound = true})), InvalidArgument);
    GTEST_SKIP() << "built without LEMON (liblemon-dev)";
  }
  const SuiteResult result = run({.policies = {Policy::value, Policy::lru}, .seeds = 1, .with_bound = true, .jobs = 2});
  ASSERT_EQ(result.contestants, (std::vector<std::string>{"value", "lru", "offline"}));
  bool above = false;
  for (const SuiteCase& each : result.cases) {
    for (const nanoseconds builds : each.builds) {
      EXPECT_GE(builds, each.reference);
      above = above || builds > each.reference;
    }
  }
  EXPECT_TRUE(above);
  EXPECT_LT(ratio(result, 2, every_case).mean, ratio(result, 1, every_case).mean);
}

TEST(Suite, SettingsOutOfRangeAreRefused) {
  EXPECT_THROW(static_cast<void>(run({.seeds = 0})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(run({.seeds = 10001})), InvalidArgument);
  // What a trace cannot be is found in another thread.
  EXPECT_THROW(static_cast<void>(run_suite({.requests = 2'000'000'000'000, .jobs = 2}, [](std::uint64_t) {})),
               InvalidArgument);
}

TEST(Suite, RatioIsTheGeometricMeanAndTheWorstOfTheCasesThatCount) {
  SuiteResult result;
  result.contestants = {"a"};
  for (const auto& [seed, builds] : {std::pair(1, 20), std::pair(2, 80), std::pair(3, 990)}) {
    result.cases.push_back({.pattern = Pattern::zipf,
                            .costs = CostModel::growing,
                            .seed = static_cast<std::uint64_t>(seed),
                            .budget_percent = 5,
                            .budget_bytes = 1,
                            .reference = nanoseconds(10),
                            .builds = {nanoseconds(builds)}});
  }
  const Ratio first_two = ratio(result, 0, [](const SuiteCase& each) { return each.seed < 3; });
  EXPECT_DOUBLE_EQ(first_two.mean, 4);  // of 2 and 8
  EXPECT_DOUBLE_EQ(first_two.worst, 8);
  EXPECT_DOUBLE_EQ(ratio(result, 0, every_case).worst, 99);
}

}  // namespace
}  // namespace larder::simulator
