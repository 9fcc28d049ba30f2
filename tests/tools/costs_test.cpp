// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of generated keys: each model is what it says, and tables of measured plans are read or refused.
#include "simulator/costs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <larder/error.hpp>
#include <string>
#include <vector>

#include "temporary_directory.hpp"

namespace larder::simulator {
namespace {

using std::chrono::nanoseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const MeasuredPlans three_plans = {{64, "estimate", 5000, nanoseconds(10)},
                                   {16, "estimate", 4000, nanoseconds(7)},
                                   {64, "measure", 5000, nanoseconds(900)}};

/// Decimal logarithms of what many keys cost.
struct Spread {
  double mean_bytes = 0;
  double mean_build = 0;
  double deviation_bytes = 0;
  double deviation_build = 0;
  double correlation = 0;
};

Spread spread_of(CostModel model) {
  constexpr int keys = 4000;
  const KeyCosts costs(model, 5, three_plans);
  double b = 0;
  double t = 0;
  double bb = 0;
  double tt = 0;
  double bt = 0;
  for (std::uint64_t key = 0; key < keys; ++key) {
    const HandleCost cost = costs.of_key(key);
    const double bytes = std::log10(static_cast<double>(cost.bytes));
    const double build = std::log10(static_cast<double>(cost.build.count()));
    b += bytes / keys;
    t += build / keys;
    bb += bytes * bytes / keys;
    tt += build * build / keys;
    bt += bytes * build / keys;
  }
  const double deviation_bytes = std::sqrt(bb - b * b);
  const double deviation_build = std::sqrt(tt - t * t);
  return {b, t, deviation_bytes, deviation_build, (bt - b * t) / deviation_bytes / deviation_build};
}

TEST(Costs, BytesSpreadAround64KiB) {
  for (const CostModel model : {CostModel::equal, CostModel::independent, CostModel::growing, CostModel::falling}) {
    const Spread spread = spread_of(model);
    EXPECT_NEAR(spread.mean_bytes, std::log10(65536), 0.03) << to_string(model);
    EXPECT_NEAR(spread.deviation_bytes, 0.4, 0.02) << to_string(model);
    EXPECT_NEAR(spread.mean_build, std::log10(2e6), 0.04) << to_string(model);
  }
}

TEST(Costs, EqualBuildsAllTake2Milliseconds) {
  const KeyCosts costs(CostModel::equal, 1, {});
  for (std::uint64_t key = 0; key < 100; ++key) EXPECT_EQ(costs.of_key(key).build, std::chrono::milliseconds(2));
}

TEST(Costs, BuildTimeGoesWithTheBytesAsTheModelSays) {
  const Spread independent = spread_of(CostModel::independent);
  EXPECT_NEAR(independent.correlation, 0, 0.05);
  EXPECT_NEAR(independent.deviation_build, 0.5, 0.03);
  // Deviation 0.4 of the bytes and 0.2 of the scatter: sqrt(0.2) of the build time, correlation 0.4 / sqrt(0.2).
  EXPECT_NEAR(spread_of(CostModel::growing).correlation, 0.894, 0.02);
  EXPECT_NEAR(spread_of(CostModel::falling).correlation, -0.894, 0.02);
  EXPECT_NEAR(spread_of(CostModel::growing).deviation_build, 0.447, 0.02);
}

TEST(Costs, AreAPropertyOfKeyAndSeed) {
  const KeyCosts costs(CostModel::independent, 1, {});
  EXPECT_EQ(costs.of_key(3).bytes, KeyCosts(CostModel::independent, 1, {}).of_key(3).bytes);
  EXPECT_NE(costs.of_key(3).bytes, costs.of_key(4).bytes);
  EXPECT_NE(costs.of_key(3).bytes, KeyCosts(CostModel::independent, 2, {}).of_key(3).bytes);
}

TEST(Costs, MeasuredKeysHaveEachOfTheMeasuredCosts) {
  const KeyCosts costs(CostModel::measured, 1, three_plans);
  std::vector<std::int64_t> seen;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const HandleCost cost = costs.of_key(key);
    EXPECT_EQ(cost.bytes, cost.build == nanoseconds(7) ? 4000U : 5000U);
    seen.push_back(cost.build.count());
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_THAT(seen, testing::ElementsAre(7, 10, 900));
}

TEST(Costs, BytesOfALengthAreInProportionToIt) {
  const KeyCosts costs(CostModel::independent, 1, {});
  EXPECT_NEAR(static_cast<double>(costs.of_length(8).bytes), 512, 1);
  EXPECT_NEAR(static_cast<double>(costs.of_length(4096).bytes), 262144, 1);
}

TEST(Costs, MeasuredCostOfALengthIsThatOfTheNextPlanInLength) {
  const KeyCosts costs(CostModel::measured, 1, three_plans);
  EXPECT_EQ(costs.of_length(8).build, nanoseconds(7));
  EXPECT_EQ(costs.of_length(16).build, nanoseconds(7));
  bool estimated = false;
  bool measured = false;
  for (std::uint64_t length = 17; length < 200; ++length) {  // beyond the longest, too
    const HandleCost cost = costs.of_length(length);
    EXPECT_EQ(cost.bytes, 5000U);
    (cost.build == nanoseconds(900) ? measured : estimated) = true;
  }
  EXPECT_TRUE(estimated && measured);
}

TEST(Costs, NamesAreFound) {
  for (const CostModel model : cost_models) EXPECT_EQ(find_cost_model(to_string(model)), model);
  EXPECT_EQ(find_cost_model("free"), std::nullopt);
}

TEST(MeasuredPlans, BuiltInTableHoldsBothRigorsOfHundredsOfLengths) {
  const MeasuredPlans& plans = built_in_measured_plans();
  EXPECT_GE(plans.size(), 500U);
  nanoseconds estimate{0};
  nanoseconds measure{0};
  for (const MeasuredPlan& plan : plans) {
    ASSERT_THAT(plan.rigor, testing::AnyOf("estimate", "measure"));
    EXPECT_GT(plan.build.count(), 0);
    EXPECT_EQ(plan.bytes, 4096 + 16 * plan.length);
    (plan.rigor == "estimate" ? estimate : measure) += plan.build;
  }
  EXPECT_GT(estimate.count(), 0);
  EXPECT_GT(measure, 10 * estimate);
}

TEST(MeasuredPlans, AreReadFromAFile) {
  const test::TemporaryDirectory directory;
  const MeasuredPlans plans =
      read_measured_plans(directory.file("plans.csv", "length,rigor,bytes,build_ns\n16,estimate,4352,99\n"));
  ASSERT_EQ(plans.size(), 1U);
  EXPECT_EQ(plans[0].length, 16U);
  EXPECT_EQ(plans[0].rigor, "estimate");
  EXPECT_EQ(plans[0].bytes, 4352U);
  EXPECT_EQ(plans[0].build, nanoseconds(99));
}

TEST(MeasuredPlans, FaultsAreOneLineThatNamesFileLineAndValue) {
  struct Fault {
    const char* content;
    const char* where;
    const char* what;
  };
  const std::string header = "length,rigor,bytes,build_ns\n";
  const test::TemporaryDirectory directory;
  const auto fault_of = [&](const std::string& content) -> std::string {
    try {
      static_cast<void>(read_measured_plans(directory.file("plans.csv", content)));
    } catch (const InvalidArgument& fault) {
      return fault.what();
    }
    return "no fault";
  };
  EXPECT_THAT(fault_of("16,estimate,1,2\n"), AllOf(HasSubstr("plans.csv"), HasSubstr("'16,estimate,1,2'")));
  EXPECT_THAT(fault_of(header), HasSubstr("plans.csv"));
  for (const Fault& fault : {Fault{"16,estimate,1,2\nx,estimate,1,2\n", "line 3", "length 'x'"},
                             Fault{"16,estimate,-1,2\n", "line 2", "bytes '-1'"},
                             Fault{"16,estimate,1,9223372036854775808\n", "line 2", "build_ns '9223372036854775808'"},
                             Fault{"16,estimate,1\n", "line 2", "fewer than 4 fields"},
                             Fault{"16,estimate,1,2,3\n", "line 2", "more than 4 fields"}}) {
    EXPECT_THAT(fault_of(header + fault.content),
                AllOf(HasSubstr("plans.csv"), HasSubstr(fault.where), HasSubstr(fault.what), Not(HasSubstr("\n"))));
  }
  EXPECT_THROW(static_cast<void>(read_measured_plans(directory.path("absent.csv"))), InvalidArgument);
}

}  // namespace
}  // namespace larder::simulator
