// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stats: every counter, with values worked out by hand.
#include <chrono>
#include <set>
#include <string>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;

TEST(StatsTest, ANewCacheHasDoneNothing) {
  ExclusiveWorld world;
  const Stats stats = world->stats();
  EXPECT_EQ(stats.hits + stats.misses + stats.builds + stats.build_failures + stats.rebuilds, 0U);
  EXPECT_EQ(stats.evicted(), 0U);
  EXPECT_EQ(stats.destroys + stats.destroy_failures + stats.abandoned, 0U);
  EXPECT_EQ(stats.live + stats.idle + stats.idle_keys + stats.leased, 0U);
  EXPECT_EQ(stats.peak_live + stats.peak_live_bytes, 0U);
}

TEST(StatsTest, HitsAndMissesAreRequests) {
  ExclusiveWorld world;
  (void)world->acquire(1);      // miss
  (void)world->acquire(1);      // hit
  (void)world->try_acquire(1);  // hit
  (void)world->try_acquire(2);  // miss
  (void)world->acquire(2);      // miss
  EXPECT_EQ(world->stats().hits, 2U);
  EXPECT_EQ(world->stats().misses, 3U);
  EXPECT_EQ(world->stats().builds, 2U);
}

TEST(StatsTest, HitsSurviveTheHandleTheyWereOn) {
  ExclusiveWorld world;
  for (int use = 0; use < 4; ++use) (void)world->acquire(1);
  world->clear();
  EXPECT_EQ(world->stats().hits, 3U);
}

TEST(StatsTest, FailedBuildsAreMissesButNoBuilds) {
  ExclusiveWorld world;
  world.control->throw_at(Call::create, 1);
  EXPECT_ANY_THROW((void)world->acquire(1));
  EXPECT_EQ(world->stats().misses, 1U);
  EXPECT_EQ(world->stats().build_failures, 1U);
  EXPECT_EQ(world->stats().builds, 0U);
}

TEST(StatsTest, BuildTimeIsTheTimeOfSuccessfulCreates) {
  ExclusiveWorld world;
  world.control->set_build_cost(1, 300ns);
  world.control->set_build_cost(2, 50ns);
  (void)world->acquire(1);
  (void)world->acquire(2);
  world.control->on(Call::create, [&world](int) { world.clock.advance(1000ns); });
  world.control->throw_at(Call::create, 1);
  EXPECT_ANY_THROW((void)world->acquire(3));
  EXPECT_EQ(world->stats().build_time, 350ns);
}

TEST(StatsTest, RebuildsAreBuildsOfKeysHeldBefore) {
  ExclusiveWorld world({.max_idle = 1}, by_recency());
  (void)world->acquire(1);
  (void)world->acquire(2);
  EXPECT_EQ(world->stats().rebuilds, 0U);
  (void)world->acquire(1);
  EXPECT_EQ(world->stats().rebuilds, 1U);
}

TEST(StatsTest, ASecondHandleOfAHeldKeyIsNoRebuild) {
  ExclusiveWorld world;
  const auto a = world->acquire(1);
  const auto b = world->acquire(1);
  EXPECT_EQ(world->stats().rebuilds, 0U);
}

TEST(StatsTest, IdleAndLeasedSplitTheLive) {
  ExclusiveWorld world;
  world.control->set_bytes(1, 10);
  world.control->set_bytes(2, 300);
  const auto a = world->acquire(1);
  { const auto b = world->acquire(1); }
  { const auto c = world->acquire(2); }
  const Stats stats = world->stats();
  EXPECT_EQ(stats.live, 3U);
  EXPECT_EQ(stats.idle, 2U);
  EXPECT_EQ(stats.idle_keys, 2U);
  EXPECT_EQ(stats.leased, 1U);
  EXPECT_EQ(stats.idle_bytes, 310U);
  EXPECT_EQ(stats.leased_bytes, 10U);
}

TEST(StatsTest, SeveralIdleHandlesOfAKeyAreOneIdleKey) {
  ExclusiveWorld world;
  world->prewarm(1, 3);
  EXPECT_EQ(world->stats().idle, 3U);
  EXPECT_EQ(world->stats().idle_keys, 1U);
}

TEST(StatsTest, PeaksStay) {
  ExclusiveWorld world;
  world.control->set_bytes_of_all(100);
  {
    const auto a = world->acquire(1);
    const auto b = world->acquire(2);
  }
  world->clear();
  (void)world->acquire(3);
  EXPECT_EQ(world->stats().peak_live, 2U);
  EXPECT_EQ(world->stats().peak_live_bytes, 200U);
}

TEST(StatsTest, BytesFollowWhatTheFactorySaysAtReturn) {
  ExclusiveWorld world;
  world.control->set_bytes(1, 10);
  {
    const auto lease = world->acquire(1);
    (*lease)->extra_bytes = 5;
  }
  EXPECT_EQ(world->stats().idle_bytes, 15U);
  EXPECT_EQ(world->stats().peak_live_bytes, 15U);
}

TEST(StatsTest, EachCauseOfEvictionIsCountedAsItself) {
  ExclusiveWorld world({.max_idle = 3, .max_idle_per_key = 1, .max_idle_bytes = 100, .max_idle_age = 10ns},
                       by_recency());
  {
    const auto a = world->acquire(1);
    const auto b = world->acquire(1);
  }                                                             // per key
  for (int key = 2; key < 5; ++key) (void)world->acquire(key);  // budget
  world.control->set_bytes(5, 101);
  (void)world->acquire(5);  // bytes
  (void)world->trim(1);     // pressure: no handle left tells any bytes, so all three go
  (void)world->acquire(6);
  world.clock.advance(11ns);  // age
  (void)world->stats();
  world->acquire(7).discard();
  (void)world->acquire(8);
  world->clear();
  const Stats stats = world->stats();
  EXPECT_EQ(stats.evicted(EvictionCause::per_key), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::budget), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::bytes), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::pressure), 3U);
  EXPECT_EQ(stats.evicted(EvictionCause::age), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::discarded), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::cleared), 1U);
  EXPECT_EQ(stats.evicted(EvictionCause::invalidated), 0U);
  EXPECT_EQ(stats.evicted(), 9U);
}

TEST(StatsTest, EveryCauseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t cause = 0; cause < eviction_causes; ++cause)
    names.emplace(to_string(static_cast<EvictionCause>(cause)));
  EXPECT_EQ(names.size(), eviction_causes);
  EXPECT_EQ(names.count(""), 0U);
}

TEST(StatsTest, HandlesOfALibraryThatHasGoneAreAbandoned) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.control->set_alive(false);
  world->clear();
  const Stats stats = world->stats();
  EXPECT_EQ(stats.abandoned, 1U);
  EXPECT_EQ(stats.destroys, 0U);
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(world.control->calls(Call::destroy), 0U);
  // The handle lives on in the library by the control's count, and nobody can change that.
  world.destroy_cache();
  EXPECT_EQ(world.control->live(), 1U);
}

}  // namespace
}  // namespace larder::core_tests
