// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Budget: each limit alone, exact, changeable; and the text forms of its fields.
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;

void use_each_once(ExclusiveWorld& world, int first, int count) {
  for (int key = first; key < first + count; ++key) (void)world->acquire(key);
}

TEST(BudgetTest, TheGenericCacheKeepsEverythingByDefault) {
  ExclusiveWorld world;
  use_each_once(world, 0, 1000);
  EXPECT_EQ(world->stats().idle, 1000U);
  EXPECT_EQ(world.control->destroyed(), 0U);
}

TEST(BudgetTest, ACountOf32Keeps32) {
  ExclusiveWorld world({.max_idle = 32}, by_recency());
  use_each_once(world, 0, 31);
  EXPECT_EQ(world->stats().idle, 31U);
  use_each_once(world, 31, 1);
  EXPECT_EQ(world->stats().idle, 32U);
  use_each_once(world, 32, 1);
  EXPECT_EQ(world->stats().idle, 32U);
  EXPECT_TRUE(world.control->is_destroyed(0));
  EXPECT_EQ(world->stats().evicted(EvictionCause::budget), 1U);
}

TEST(BudgetTest, ACountOfZeroKeepsNothing) {
  ExclusiveWorld world({.max_idle = 0});
  use_each_once(world, 0, 3);
  EXPECT_EQ(world->stats().idle, 0U);
  EXPECT_EQ(world.control->destroyed(), 3U);
}

TEST(BudgetTest, APerKeyCountBoundsEachKeyAlone) {
  ExclusiveWorld world({.max_idle_per_key = 2}, by_recency());
  {
    std::vector<Lease<doubles::ExclusiveFactory>> leases;
    for (int i = 0; i < 3; ++i) leases.push_back(world->acquire(1));
    for (int i = 0; i < 2; ++i) leases.push_back(world->acquire(2));
  }
  EXPECT_EQ(world->stats().idle, 4U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::per_key), 1U);
  EXPECT_EQ(world.control->created(1) - world.control->destroyed(), 2U);
}

TEST(BudgetTest, APerKeyCountOfZeroKeepsNothing) {
  ExclusiveWorld world({.max_idle_per_key = 0});
  use_each_once(world, 0, 3);
  EXPECT_EQ(world->stats().idle, 0U);
}

TEST(BudgetTest, BytesBoundTheIdleOnly) {
  ExclusiveWorld world({.max_idle_bytes = 100}, by_recency());
  world.control->set_bytes_of_all(40);
  {
    const auto a = world->acquire(1);
    const auto b = world->acquire(2);
    const auto c = world->acquire(3);
    EXPECT_EQ(world->stats().leased_bytes, 120U);
  }
  EXPECT_EQ(world->stats().idle_bytes, 80U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::bytes), 1U);
}

TEST(BudgetTest, BytesExactlyAtTheLimitAreKept) {
  ExclusiveWorld world({.max_idle_bytes = 100});
  world.control->set_bytes_of_all(50);
  use_each_once(world, 0, 2);
  EXPECT_EQ(world->stats().idle_bytes, 100U);
  EXPECT_EQ(world.control->destroyed(), 0U);
}

TEST(BudgetTest, AHandleLargerThanTheWholeByteBudgetIsNotKeptAndEvictsNothing) {
  ExclusiveWorld world({.max_idle_bytes = 100});
  world.control->set_bytes(1, 60);
  world.control->set_bytes(2, 101);
  use_each_once(world, 1, 2);
  EXPECT_EQ(world->stats().idle_bytes, 60U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::bytes), 1U);
  EXPECT_TRUE(world.control->is_destroyed(1));
}

TEST(BudgetTest, TheAgeIsCountedFromTheReturn) {
  ExclusiveWorld world({.max_idle_age = 10ns});
  {
    const auto lease = world->acquire(1);
    world.clock.advance(100ns);
  }
  world.clock.advance(10ns);
  EXPECT_EQ(world->stats().idle, 1U) << "10 ns idle with a limit of 10 ns";
  world.clock.advance(1ns);
  EXPECT_EQ(world->stats().idle, 0U) << "11 ns idle";
  EXPECT_EQ(world->stats().evicted(EvictionCause::age), 1U);
}

TEST(BudgetTest, AHandlePastTheAgeIsNotHandedOutAgain) {
  ExclusiveWorld world({.max_idle_age = 10ns});
  (void)world->acquire(1);
  world.clock.advance(11ns);
  const auto lease = world->acquire(1);
  EXPECT_EQ(lease.get()->number, 1U);
  EXPECT_TRUE(world.control->is_destroyed(0));
}

TEST(BudgetTest, AUseMakesAHandleYoungAgain) {
  ExclusiveWorld world({.max_idle_age = 10ns});
  for (int use = 0; use < 5; ++use) {
    (void)world->acquire(1);
    world.clock.advance(8ns);
  }
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(BudgetTest, OnlyTheHandlesPastTheAgeGo) {
  ExclusiveWorld world({.max_idle_age = 10ns});
  (void)world->acquire(1);
  world.clock.advance(6ns);
  (void)world->acquire(2);
  world.clock.advance(6ns);
  EXPECT_EQ(world->stats().idle, 1U);
  EXPECT_EQ(world.control->survivors(), std::vector<std::uint64_t>{1});
}

TEST(BudgetTest, AnAgeOfZeroKeepsNothing) {
  ExclusiveWorld world({.max_idle_age = 0ns});
  (void)world->acquire(1);
  EXPECT_EQ(world->stats().idle, 0U);
}

TEST(BudgetTest, ShrinkingEvictsAtOnce) {
  ExclusiveWorld world({}, by_recency());
  use_each_once(world, 0, 10);
  world->set_budget({.max_idle = 4});
  EXPECT_EQ(world.control->survivors(), (std::vector<std::uint64_t>{6, 7, 8, 9}));
}

TEST(BudgetTest, ShrinkingTheBytesEvictsAtOnce) {
  ExclusiveWorld world({}, by_recency());
  world.control->set_bytes_of_all(10);
  use_each_once(world, 0, 10);
  world->set_budget({.max_idle_bytes = 35});
  EXPECT_EQ(world.control->survivors(), (std::vector<std::uint64_t>{7, 8, 9}));
}

TEST(BudgetTest, ShrinkingTheAgeEvictsAtOnceWhatIsOlder) {
  ExclusiveWorld world({.max_idle_age = 100ns});
  (void)world->acquire(1);
  world.clock.advance(50ns);
  (void)world->acquire(2);
  world->set_budget({.max_idle_age = 20ns});
  EXPECT_EQ(world.control->survivors(), std::vector<std::uint64_t>{1});
}

TEST(BudgetTest, AnAgeSetLaterCountsFromThen) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.clock.advance(1000ns);
  world->set_budget({.max_idle_age = 20ns});
  world.clock.advance(20ns);
  EXPECT_EQ(world->stats().idle, 1U);
  world.clock.advance(1ns);
  EXPECT_EQ(world->stats().idle, 0U);
}

TEST(BudgetTest, GrowingKeepsWhatIsThere) {
  ExclusiveWorld world({.max_idle = 2}, by_recency());
  use_each_once(world, 0, 2);
  world->set_budget({.max_idle = 3});
  use_each_once(world, 2, 1);
  EXPECT_EQ(world->stats().idle, 3U);
}

TEST(BudgetTest, SettingABudgetReplacesEveryField) {
  ExclusiveWorld world({.max_idle = 2}, by_recency());
  world->set_budget({.max_idle_bytes = 1000});
  use_each_once(world, 0, 10);
  EXPECT_EQ(world->stats().idle, 10U);
}

TEST(BudgetTest, LeasesTakenBeforeAShrinkObeyItWhenTheyReturn) {
  ExclusiveWorld world;
  {
    std::vector<Lease<doubles::ExclusiveFactory>> leases;
    for (int key = 0; key < 8; ++key) leases.push_back(world->acquire(key));
    world->set_budget({.max_idle = 3});
    EXPECT_EQ(world.control->destroyed(), 0U);
  }
  EXPECT_EQ(world->stats().idle, 3U);
  EXPECT_EQ(world.control->destroyed(), 5U);
}

struct WithDefault {
  using Key = int;
  using Handle = int;
  static constexpr Budget default_budget{.max_idle = 2};
  int create(int key) { return key; }
  void destroy(int, int) {}
};

TEST(BudgetTest, TheFactorysDefaultHoldsForWhatTheCodeLeavesUnset) {
  HandleCache<WithDefault> by_default;
  HandleCache<WithDefault> in_code({.max_idle = 3});
  for (int key = 0; key < 9; ++key) {
    (void)by_default.acquire(key);
    (void)in_code.acquire(key);
  }
  EXPECT_EQ(by_default.stats().idle, 2U);
  EXPECT_EQ(in_code.stats().idle, 3U);
  in_code.set_budget({});
  EXPECT_EQ(in_code.stats().idle, 2U);
}

TEST(BudgetTest, UnlimitedInCodeOverridesTheFactorysDefault) {
  HandleCache<WithDefault> cache({.max_idle = Budget::unlimited});
  for (int key = 0; key < 9; ++key) (void)cache.acquire(key);
  EXPECT_EQ(cache.stats().idle, 9U);
}

TEST(BudgetTextTest, CountsAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_count("0"), std::size_t{0});
  EXPECT_EQ(parse_count("64"), std::size_t{64});
  EXPECT_EQ(parse_count("18446744073709551615"), Budget::unlimited);
  EXPECT_EQ(parse_count("unlimited"), Budget::unlimited);
  for (const char* text :
       {"", " ", "-1", "+1", "64 ", " 64", "64k", "1e3", "0x10", "18446744073709551616", "Unlimited"})
    EXPECT_EQ(parse_count(text), std::nullopt) << '"' << text << '"';
}

TEST(BudgetTextTest, BytesTakeBinaryUnits) {
  EXPECT_EQ(parse_bytes("0"), std::size_t{0});
  EXPECT_EQ(parse_bytes("1048576"), std::size_t{1048576});
  EXPECT_EQ(parse_bytes("64KiB"), std::size_t{65536});
  EXPECT_EQ(parse_bytes("256MiB"), std::size_t{268435456});
  EXPECT_EQ(parse_bytes("2GiB"), std::size_t{2147483648});
  EXPECT_EQ(parse_bytes("unlimited"), Budget::unlimited);
  EXPECT_EQ(parse_bytes("16777215TiB"), std::size_t{18446742974197923840U});
  for (const char* text : {"", "MiB", "1 MiB", "1MB", "1mib", "-1KiB", "1.5GiB", "16777216TiB", "99999999999999999999"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << '"' << text << '"';
}

TEST(BudgetTextTest, DurationsNeedAUnit) {
  EXPECT_EQ(parse_duration("250ms"), std::chrono::nanoseconds(250'000'000));
  EXPECT_EQ(parse_duration("30s"), std::chrono::nanoseconds(30'000'000'000));
  EXPECT_EQ(parse_duration("5min"), std::chrono::nanoseconds(300'000'000'000));
  EXPECT_EQ(parse_duration("2h"), std::chrono::nanoseconds(7'200'000'000'000));
  EXPECT_EQ(parse_duration("0s"), std::chrono::nanoseconds(0));
  EXPECT_EQ(parse_duration("unlimited"), Budget::unlimited_age);
  for (const char* text : {"", "30", "s", "-1s", "30 s", "1.5s", "1d", "2562048h", "99999999999999999999ns"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << '"' << text << '"';
}

}  // namespace
}  // namespace larder::core_tests
