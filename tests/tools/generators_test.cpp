// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated traces: the same on every machine, and each pattern with the property that its comment claims.
#include "simulator/generators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <larder/error.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace larder::simulator {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> keys_of(const TraceSettings& settings) {
  std::vector<std::string> keys;
  for (const TraceRow& row : generate(settings)) keys.push_back(row.key);
  return keys;
}

std::map<std::string, int> uses_of(const std::vector<std::string>& keys) {
  std::map<std::string, int> uses;
  for (const std::string& key : keys) ++uses[key];
  return uses;
}

std::string most_used(const std::vector<std::string>& keys) {
  const auto uses = uses_of(keys);
  return std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::uint64_t number_of(const std::string& key) { return std::stoull(key.substr(1)); }

/// FNV-1a over all fields of all rows.
std::uint64_t hash_of(const std::vector<TraceRow>& rows) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const TraceRow& row : rows) {
    for (const char c : std::to_string(row.time.count()) + ',' + row.key + ',' + std::to_string(row.bytes) + ',' +
                            std::to_string(row.build.count()) + ',' + std::to_string(row.lease.count()) + '\n') {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return hash;
}

TEST(Generators, TracesAreTheSameOnEveryMachine) {
  const std::map<Pattern, std::uint64_t> expected = {
      {Pattern::zipf, 4095304468629730472U},    {Pattern::drift, 12405751113202931811U},
      {Pattern::jobs, 13435199289937821105U},   {Pattern::scan, 4940643809596527686U},
      {Pattern::hotcold, 8658300611073826379U}, {Pattern::loop, 8310799549029371347U},
      {Pattern::phases, 15399087613730343941U}, {Pattern::lengths, 12725684161015674770U}};
  for (const Pattern pattern : patterns) {
    EXPECT_EQ(hash_of(generate({.pattern = pattern, .requests = 2000, .costs = CostModel::growing})),
              expected.at(pattern))
        << to_string(pattern);
  }
}

TEST(Generators, AnotherSeedIsAnotherTrace) {
  for (const Pattern pattern : patterns) {
    EXPECT_NE(hash_of(generate({.pattern = pattern, .requests = 100, .seed = 1})),
              hash_of(generate({.pattern = pattern, .requests = 100, .seed = 2})))
        << to_string(pattern);
  }
}

TEST(Generators, LongerTraceBeginsLikeTheShorter) {
  for (const Pattern pattern : patterns) {
    auto rows = generate({.pattern = pattern, .requests = 3000});
    rows.resize(1000);
    EXPECT_EQ(hash_of(rows), hash_of(generate({.pattern = pattern, .requests = 1000}))) << to_string(pattern);
  }
}

TEST(Generators, ARequestComesEveryMillisecondAndCostsBelongToTheKey) {
  for (const Pattern pattern : patterns) {
    const auto rows = generate({.pattern = pattern});
    ASSERT_EQ(rows.size(), 5000U);
    std::map<std::string, std::pair<std::size_t, std::int64_t>> costs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].time, milliseconds(i));
      const std::pair cost(rows[i].bytes, rows[i].build.count());
      ASSERT_EQ(costs.emplace(rows[i].key, cost).first->second, cost);
      ASSERT_GT(cost.first, 0U);
      ASSERT_GT(cost.second, 0);
    }
  }
}

TEST(Generators, OverlapIsTheShareOfLeasesBeyondTheNextRequest) {
  const auto longer = [](double overlap) {
    const auto rows = generate({.overlap = overlap});
    EXPECT_TRUE(std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.lease < milliseconds(16); }));
    return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.lease >= milliseconds(1); });
  };
  EXPECT_EQ(longer(0), 0);
  EXPECT_NEAR(static_cast<double>(longer(0.1)), 500, 80);
  EXPECT_EQ(longer(1), 5000);
}

TEST(Generators, ZipfHasTheSamePopularKeysForGood) {
  const auto keys = keys_of({.pattern = Pattern::zipf, .requests = 40000});
  const auto uses = uses_of(keys);
  // Rank 10 is 10^0.9 = 7.9 times rarer than rank 1.
  EXPECT_NEAR(static_cast<double>(uses.at("k0")) / uses.at("k9"), 7.9, 1.5);
  EXPECT_EQ(most_used({keys.begin(), keys.begin() + 4000}), "k0");
  EXPECT_EQ(most_used({keys.end() - 4000, keys.end()}), "k0");
}

TEST(Generators, DriftMovesPopularity) {
  const auto keys = keys_of({.pattern = Pattern::drift, .requests = 40000});
  std::set<std::string> popular;
  for (auto part = keys.begin(); part != keys.end(); part += 4000) popular.insert(most_used({part, part + 4000}));
  EXPECT_GE(popular.size(), 5U);
  // At any one time it is as uneven as that of zipf.
  const auto uses = uses_of({keys.begin(), keys.begin() + 2000});
  EXPECT_GE(uses.at(most_used({keys.begin(), keys.begin() + 2000})), 2000 / 40);
}

TEST(Generators, JobsGoRoundTheirKeysFourTimesAndMore) {
  // A set holds 50 keys at most and a job lasts 24 rounds at most, which is 4800 requests of all four jobs on average: the
  // jobs of the first third are over.
  const auto keys = keys_of({.pattern = Pattern::jobs, .requests = 18000});
  const auto uses = uses_of(keys);
  for (std::size_t i = 0; i < 6000; ++i) ASSERT_GE(uses.at(keys[i]), 4) << keys[i];
  const std::set<std::string> early(keys.begin(), keys.begin() + 200);
  const std::set<std::string> late(keys.end() - 200, keys.end());
  EXPECT_LE(early.size(), 200U - 50U);
  EXPECT_NE(early, late);
}

TEST(Generators, ScanSweepsKeysThatNeverComeAgain) {
  const auto keys = keys_of({.pattern = Pattern::scan, .requests = 5000, .hot = 40, .cold = 10});
  std::uint64_t unused = 40;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i % 50 < 40) {
      ASSERT_LT(number_of(keys[i]), 40U);
    } else {
      ASSERT_EQ(number_of(keys[i]), unused++);
    }
  }
  EXPECT_EQ(most_used(keys), "k0");
}

TEST(Generators, HotColdTakesEveryHotKeyAndThenNewOnes) {
  EXPECT_THAT(keys_of({.pattern = Pattern::hotcold, .requests = 9, .hot = 2, .cold = 2}),
              ElementsAre("k0", "k1", "k2", "k3", "k0", "k1", "k4", "k5", "k0"));
  EXPECT_THAT(keys_of({.pattern = Pattern::hotcold, .requests = 4, .hot = 3, .cold = 0}),
              ElementsAre("k0", "k1", "k2", "k0"));
}

TEST(Generators, LoopTakesAllKeysInTurn) {
  EXPECT_THAT(keys_of({.pattern = Pattern::loop, .requests = 7, .keys = 3}),
              ElementsAre("k0", "k1", "k2", "k0", "k1", "k2", "k0"));
}

TEST(Generators, PhasesKeepToASmallWorkingSet) {
  // A quarter of 400 keys for 800 requests.
  const auto keys = keys_of({.pattern = Pattern::phases, .requests = 4000});
  std::set<std::string> before;
  for (auto phase = keys.begin(); phase != keys.end(); phase += 800) {
    const std::set<std::string> set(phase, phase + 800);
    EXPECT_LE(set.size(), 100U);
    EXPECT_GE(set.size(), 60U);
    std::vector<std::string> common;
    std::set_intersection(set.begin(), set.end(), before.begin(), before.end(), std::back_inserter(common));
    EXPECT_LE(common.size(), 50U);
    before = set;
  }
}

TEST(Generators, LengthsAreMultiplesOf8AroundTheirMedian) {
  const auto keys = keys_of({.pattern = Pattern::lengths});
  std::vector<std::uint64_t> lengths;
  for (const std::string& key : keys) {
    ASSERT_EQ(key.front(), 'n');
    ASSERT_EQ(number_of(key) % 8, 0U);
    ASSERT_GT(number_of(key), 0U);
    lengths.push_back(number_of(key));
  }
  std::sort(lengths.begin(), lengths.end());
  // The median is 8 x 400 / 4; an octave below lie 16 of 100, a standard deviation.
  EXPECT_NEAR(static_cast<double>(lengths[2500]), 800, 60);
  EXPECT_NEAR(static_cast<double>(lengths[5000 * 16 / 100]), 400, 40);
  EXPECT_NEAR(static_cast<double>(uses_of(keys).size()), 400, 100);
}

TEST(Generators, NamesAreFound) {
  for (const Pattern pattern : patterns) EXPECT_EQ(find_pattern(to_string(pattern)), pattern);
  EXPECT_EQ(find_pattern("bake"), std::nullopt);
}

TEST(Generators, SettingsOutOfRangeAreNamedWithTheirValue) {
  const auto fault_of = [](const TraceSettings& settings) -> std::string {
    try {
      const TraceGenerator generator(settings);
    } catch (const InvalidArgument& fault) {
      return fault.what();
    }
    return "no fault";
  };
  EXPECT_THAT(fault_of({.keys = 0}), HasSubstr("keys 0"));
  EXPECT_THAT(fault_of({.requests = 1'000'000'000'001}), HasSubstr("requests 1000000000001"));
  EXPECT_THAT(fault_of({.pattern = Pattern::scan, .hot = 0}), HasSubstr("hot 0"));
  EXPECT_THAT(fault_of({.overlap = 1.5}), HasSubstr("overlap 1.5"));
  EXPECT_EQ(fault_of({}), "no fault");
}

}  // namespace
}  // namespace larder::simulator
