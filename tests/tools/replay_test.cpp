// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaying traces: every expected number is worked out by hand in the comment beside it.
#include "simulator/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "temporary_directory.hpp"

namespace larder::simulator {
namespace {

using std::chrono::nanoseconds;

TraceRow row(std::int64_t time, const std::string& key, std::int64_t build = 1, std::size_t bytes = 1,
             std::int64_t lease = 0) {
  return {
      .time = nanoseconds(time), .key = key, .bytes = bytes, .build = nanoseconds(build), .lease = nanoseconds(lease)};
}

Stats after(const Policy& policy, const Budget& budget, const std::vector<TraceRow>& rows) {
  Replay replay(policy, budget);
  for (const TraceRow& each : rows) replay.request(each);
  return replay.stats();
}

std::vector<ReplayResult> results_of(const std::string& rows, const std::vector<Policy>& policies,
                                     const Budget& budget) {
  const test::TemporaryDirectory directory;
  return replay(directory.file("trace.csv", "time_ns,key,bytes,build_ns,lease_ns\n" + rows), policies, budget);
}

TEST(Replay, LruBuildsWhatAHandWorkedExampleBuilds) {
  // Two places. a and b are built (10 + 20); a is there; c is built (30) and pushes out b, the one returned longest
  // ago; b is built again (20) and pushes out a.
  const auto results =
      results_of("0,a,1,10,0\n1,b,1,20,0\n2,a,1,10,0\n3,c,1,30,0\n4,b,1,20,0\n", {Policy::lru}, {.max_idle = 2});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].policy, "lru");
  EXPECT_EQ(results[0].requests, 5U);
  EXPECT_EQ(results[0].builds, 4U);
  EXPECT_EQ(results[0].build_time, nanoseconds(80));
}

TEST(Replay, PoliciesOfOneReplayDoNotInfluenceEachOther) {
  // Two places; a costs 100, b and c 1.
  //   lru: a, b built; c pushes out a; b is there; a is built again.          100 + 1 + 1 + 100
  //   gds: a, b built; c pushes out b (1 < 100, b before c); b is built again and pushes out c; a is there.  100 + 1 +
  //   1 + 1
  const auto results = results_of("0,a,1,100,0\n1,b,1,1,0\n2,c,1,1,0\n3,b,1,1,0\n4,a,1,100,0\n",
                                  {Policy::lru, Policy::gds, Policy::lru}, {.max_idle = 2});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].build_time, nanoseconds(202));
  EXPECT_EQ(results[1].policy, "gds");
  EXPECT_EQ(results[1].builds, 4U);
  EXPECT_EQ(results[1].build_time, nanoseconds(103));
  EXPECT_EQ(results[2].build_time, nanoseconds(202));
}

TEST(Replay, OverlappingLeasesOfOneKeyNeedAHandleEach) {
  // The second request comes while the first lease is open; the third finds both back.
  const Stats stats =
      after(Policy::lru, {.max_idle = 8}, {row(0, "a", 1, 1, 100), row(50, "a", 1, 1, 10), row(200, "a")});
  EXPECT_EQ(stats.builds, 2U);
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.peak_live, 2U);
}

TEST(Replay, LeaseThatEndsAtTheTimeOfARequestEndsBeforeIt) {
  EXPECT_EQ(after(Policy::lru, {.max_idle = 8}, {row(0, "a", 1, 1, 50), row(50, "a")}).builds, 1U);
  EXPECT_EQ(after(Policy::lru, {.max_idle = 8}, {row(0, "a", 1, 1, 51), row(50, "a")}).builds, 2U);
}

TEST(Replay, LeasesEndInOrderOfTimeNotOfRequest) {
  // One place. b's lease ends first, then a's, which pushes b out: a is there at 100, b is not.
  const std::vector<TraceRow> rows = {row(0, "a", 1, 1, 40), row(1, "b", 1, 1, 10), row(100, "a"), row(101, "b")};
  const Stats stats = after(Policy::lru, {.max_idle = 1}, rows);
  EXPECT_EQ(stats.builds, 3U);
}

TEST(Replay, BuildTimeDoesNotMoveTheEndOfALease) {
  // The build takes far longer than the lease, yet the second request at 10 finds the handle returned at 5.
  EXPECT_EQ(after(Policy::lru, {.max_idle = 1}, {row(0, "a", 1000, 1, 5), row(10, "a", 1000)}).builds, 1U);
}

TEST(Replay, NothingIsKeptWithABudgetOfNothing) {
  EXPECT_EQ(after(Policy::lru, {.max_idle = 0}, {row(0, "a"), row(1, "a"), row(2, "a")}).builds, 3U);
}

TEST(Replay, ByteBudgetCountsTracedBytes) {
  const std::vector<TraceRow> rows = {row(0, "a", 1, 40), row(1, "b", 1, 40), row(2, "a", 1, 40)};
  EXPECT_EQ(after(Policy::lru, {.max_idle_bytes = 79}, rows).builds, 3U);
  EXPECT_EQ(after(Policy::lru, {.max_idle_bytes = 80}, rows).builds, 2U);
}

TEST(Replay, HandleLargerThanTheByteBudgetPushesNothingOut) {
  const std::vector<TraceRow> rows = {row(0, "a", 1, 40), row(1, "big", 1, 200), row(2, "a", 1, 40)};
  EXPECT_EQ(after(Policy::lru, {.max_idle_bytes = 100}, rows).builds, 2U);
}

TEST(Replay, EnvironmentChangesNothing) {
  ::setenv("LARDER_MAX_IDLE", "0", 1);
  const Stats stats = after(Policy::lru, {}, {row(0, "a"), row(1, "a")});
  ::unsetenv("LARDER_MAX_IDLE");
  EXPECT_EQ(stats.builds, 1U);
}

TEST(Replay, BytesThatCannotBeCountedAreAFaultOfTheirLine) {
  // Two of these fit into 64 bits, a third does not.
  const std::string huge = ",9223372036854775807,1,0\n";
  try {
    static_cast<void>(results_of("0,a" + huge + "1,b" + huge + "2,c" + huge, {Policy::lru}, {}));
    FAIL() << "counted more than 64 bits of bytes";
  } catch (const BadTrace& fault) {
    EXPECT_THAT(fault.what(),
                testing::AllOf(testing::HasSubstr("line 4:"), testing::HasSubstr("9223372036854775807 bytes")));
  }
}

TEST(Replay, TimeThatCannotBeCountedIsAFaultOfItsLine) {
  try {
    static_cast<void>(results_of("0,a,1,9223372036854775807,0\n1,b,1,1,0\n", {Policy::lru}, {}));
    FAIL() << "counted more than 63 bits of nanoseconds";
  } catch (const BadTrace& fault) {
    EXPECT_THAT(fault.what(), testing::AllOf(testing::HasSubstr("line 3:"), testing::HasSubstr("build_ns")));
  }
}

TEST(ReplayCases, C23_VictimIsTheOneNotTouched) {
  // Two places: a, b, a again, then c: b goes. a is there, b must be built.
  EXPECT_EQ(
      after(Policy::lru, {.max_idle = 2}, {row(0, "a"), row(1, "b"), row(2, "a"), row(3, "c"), row(4, "a")}).builds,
      3U);
  EXPECT_EQ(
      after(Policy::lru, {.max_idle = 2}, {row(0, "a"), row(1, "b"), row(2, "a"), row(3, "c"), row(4, "b")}).builds,
      4U);
}

TEST(ReplayCases, C24_FullCacheMakesPlaceForNewKeys) {
  // 64 keys once, then 8 others 125 times each: 64 + 8 builds, the rest are there.
  Replay replay(Policy::lru, {.max_idle = 64});
  std::int64_t time = 0;
  for (int i = 0; i < 64; ++i) replay.request(row(time++, "old" + std::to_string(i)));
  for (int round = 0; round < 125; ++round) {
    for (int i = 0; i < 8; ++i) replay.request(row(time++, "new" + std::to_string(i)));
  }
  EXPECT_EQ(replay.stats().builds, 72U);
}

TEST(ReplayCases, C25_LimitOf32Keeps32) {
  for (const Policy& policy : {Policy::value, Policy::lru, Policy::gds}) {
    Replay replay(policy, {.max_idle = 32});
    std::size_t most_idle = 0;
    for (int i = 0; i < 100; ++i) {
      replay.request(row(i, std::to_string(i)));
      most_idle = std::max(most_idle, replay.stats().idle);
    }
    EXPECT_EQ(most_idle, 32U) << policy.name;
  }
}

}  // namespace
}  // namespace larder::simulator
