// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guard: when gds takes over from a policy that guesses badly, for how long, and what it then costs in all.
#include "src/core/guard.hpp"

#include <chrono>
#include <cstdint>
#include <random>

#include "core/world.hpp"

namespace larder::detail {
namespace {

constexpr Guard::Room room_for_one{.handles = 1, .size = 1e18};

/// Builds half of which are the shadow's, each for a key of its own at cost 1, and half the cache's own.
void build(Guard& guard, std::uint64_t builds, double own_cost) {
  static std::uint64_t key = 100;
  for (std::uint64_t i = 0; i < builds / 2; ++i) {
    guard.note_use(++key, 1, 1, room_for_one);
    guard.note_build(own_cost);
  }
}

void fail_for(Guard& guard, std::uint64_t builds) { build(guard, builds, 100); }
void succeed_for(Guard& guard, std::uint64_t builds) { build(guard, builds, 1); }

TEST(GuardTest, GdsTakesOverAfterATrialThatCostMore) {
  Guard guard;
  fail_for(guard, 510);
  EXPECT_FALSE(guard.gds_in_charge());
  fail_for(guard, 2);
  EXPECT_TRUE(guard.gds_in_charge());
}

TEST(GuardTest, ATrialThatCostAsMuchChangesNothing) {
  Guard guard;
  succeed_for(guard, 5120);
  EXPECT_FALSE(guard.gds_in_charge());
}

TEST(GuardTest, EachFailedTrialInARowDoublesTheTermOfGds) {
  Guard guard;
  fail_for(guard, 512);
  succeed_for(guard, 510);
  EXPECT_TRUE(guard.gds_in_charge());
  succeed_for(guard, 2);
  EXPECT_FALSE(guard.gds_in_charge()) << "the next trial";
  fail_for(guard, 512);
  succeed_for(guard, 1022);
  EXPECT_TRUE(guard.gds_in_charge());
  succeed_for(guard, 2);
  EXPECT_FALSE(guard.gds_in_charge());
  succeed_for(guard, 512);
  fail_for(guard, 512);
  succeed_for(guard, 512);
  EXPECT_FALSE(guard.gds_in_charge()) << "a good trial in between made the term short again";
}

TEST(GuardTest, TheShadowKeepsWhatGdsWould) {
  // Room for two: a (cost 10), b (5), c (1). c pushes itself out, inflation 1; then b at 5 + 1 outlives the next c at 2.
  Guard guard;
  const Guard::Room room{.handles = 2, .size = 1e18};
  guard.note_use(1, 10, 1, room);
  guard.note_use(2, 5, 1, room);
  EXPECT_EQ(guard.inflation(), 0);
  guard.note_use(3, 1, 1, room);
  EXPECT_EQ(guard.inflation(), 1);
  guard.note_use(3, 1, 1, room);
  EXPECT_EQ(guard.inflation(), 2);
  guard.note_use(3, 6, 1, room);
  EXPECT_EQ(guard.inflation(), 5) << "b, at 5, goes before c, at 2 + 6";
}

TEST(GuardTest, TheShadowKeepsToTheBytes) {
  Guard guard;
  const Guard::Room room{.handles = 100, .size = 10};
  guard.note_use(1, 40, 8, room);
  guard.note_use(2, 4, 2, room);
  EXPECT_EQ(guard.inflation(), 0);
  guard.note_use(3, 40, 8, room);
  EXPECT_EQ(guard.inflation(), 5) << "key 2, at 4 / 2, and then key 1, at 40 / 8";
}

TEST(GuardTest, TheShadowNoticesThatAHandleHasGrown) {
  Guard guard;
  const Guard::Room room{.handles = 100, .size = 10};
  guard.note_use(1, 10, 5, room);
  guard.note_use(2, 40, 5, room);
  guard.note_use(2, 40, 8, room);
  EXPECT_EQ(guard.inflation(), 2) << "key 1, at 10 / 5, had to go";
}

TEST(GuardTest, WhatLeftForAnotherReasonIsPaidForByBoth) {
  Guard guard;
  const Guard::Room room{.handles = 100, .size = 1e18};
  for (int i = 0; i < 2000; ++i) {
    guard.note_use(1, 10, 1, room);
    guard.note_build(10);
    guard.forget(1);
  }
  EXPECT_FALSE(guard.gds_in_charge());
}

// The dearest, most recently used handles go first.
double backwards(const EntryView& entry) noexcept { return entry.age / entry.build_cost; }

std::chrono::nanoseconds build_time_under(const Policy& policy) {
  core_tests::ExclusiveWorld world({.max_idle = 15}, {.policy = policy});
  std::minstd_rand random(11);
  for (int key = 0; key < 60; ++key) {
    world.control->set_build_cost(key, std::chrono::microseconds(1 + random() % 1000));
  }
  for (int i = 0; i < 40000; ++i) {
    const auto key = static_cast<int>(std::min({random() % 60, random() % 60, random() % 60}));
    (void)world->acquire(key);
  }
  return world->stats().build_time;
}

TEST(GuardTest, AGuardedPolicyThatGuessesBackwardsCostsLittleMoreThanGds) {
  const auto gds = build_time_under(Policy::gds);
  EXPECT_GT(build_time_under({"unguarded", backwards}), 2 * gds);
  EXPECT_LT(build_time_under({"guarded", backwards, Aging::changes, true}), 1.2 * gds);
}

}  // namespace
}  // namespace larder::detail
