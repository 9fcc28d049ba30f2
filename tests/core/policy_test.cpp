// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policy: which handle goes, worked out by hand for each built-in policy, and what a policy of one's own sees.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;
using Survivors = std::vector<std::uint64_t>;

void use(ExclusiveWorld& world, const std::vector<int>& keys) {
  for (const int key : keys) (void)world->acquire(key);
}

TEST(PolicyTest, LruEvictsWhatWasReturnedLongestAgo) {
  ExclusiveWorld world({.max_idle = 3}, by_recency());
  use(world, {1, 2, 3, 1, 4});
  EXPECT_EQ(world.control->survivors(), (Survivors{0, 2, 3})) << "keys 1, 3, 4";
  use(world, {3, 5});
  EXPECT_EQ(world.control->survivors(), (Survivors{2, 3, 4})) << "keys 3, 4, 5";
}

TEST(PolicyTest, LruGoesByTheReturnNotByTheAcquire) {
  ExclusiveWorld world({.max_idle = 2}, by_recency());
  auto first = world->acquire(1);
  use(world, {2});
  first.release();
  use(world, {3});
  EXPECT_EQ(world.control->survivors(), (Survivors{0, 2})) << "key 2 was returned before key 1";
}

TEST(PolicyTest, LruIgnoresTheBuildCost) {
  ExclusiveWorld world({.max_idle = 1}, by_recency());
  world.control->set_build_cost(1, 1s);
  use(world, {1, 2});
  EXPECT_EQ(world.control->survivors(), Survivors{1});
}

TEST(PolicyTest, TheNewestIdleHandleOfAKeyIsHandedOutFirst) {
  ExclusiveWorld world;
  auto a = world->acquire(1);
  auto b = world->acquire(1);
  auto c = world->acquire(1);
  b.release();
  c.release();
  a.release();
  const auto first = world->acquire(1);
  const auto second = world->acquire(1);
  const auto third = world->acquire(1);
  EXPECT_EQ(first.get()->number, 0U);
  EXPECT_EQ(second.get()->number, 2U);
  EXPECT_EQ(third.get()->number, 1U);
}

TEST(PolicyTest, TheNewestIsHandedOutFirstAlsoWhenItsReturnNeededAnEviction) {
  ExclusiveWorld world({.max_idle = 2}, by_recency());
  use(world, {9});
  auto a = world->acquire(1);
  auto b = world->acquire(1);
  a.release();
  b.release();
  EXPECT_EQ(world.control->survivors(), (Survivors{1, 2}));
  const auto first = world->acquire(1);
  EXPECT_EQ(first.get()->number, 2U);
}

TEST(PolicyTest, GdsKeepsWhatIsDearToBuild) {
  ExclusiveWorld world({.max_idle = 2}, {.policy = Policy::gds});
  world.control->set_build_cost(1, 1000ns);
  for (int key = 2; key < 6; ++key) world.control->set_build_cost(key, 10ns);
  use(world, {1, 2, 3, 4, 5});
  EXPECT_EQ(world.control->survivors(), (Survivors{0, 4}));
}

TEST(PolicyTest, GdsLetsADearHandleGoOnceCheapOnesWereEvictedForLongEnough) {
  ExclusiveWorld world({.max_idle = 1}, {.policy = Policy::gds});
  world.control->set_build_cost(1, 35ns);
  for (int key = 2; key < 10; ++key) world.control->set_build_cost(key, 10ns);
  use(world, {1});
  // Key 2 scores 10 and goes, inflation 10; key 3 scores 20, inflation 20; key 4 scores 30; key 5 scores 40 > 35.
  use(world, {2, 3, 4});
  EXPECT_EQ(world.control->survivors(), Survivors{0});
  use(world, {5});
  EXPECT_EQ(world.control->survivors(), Survivors{4});
}

TEST(PolicyTest, GdsDividesByTheSizeOnlyUnderAByteBudget) {
  for (const bool by_bytes : {false, true}) {
    ExclusiveWorld world({.max_idle = 1, .max_idle_bytes = by_bytes ? 1000U : Budget::unlimited},
                         {.policy = Policy::gds});
    world.control->set_build_cost(1, 100ns);
    world.control->set_bytes(1, 100);
    world.control->set_build_cost(2, 50ns);
    world.control->set_bytes(2, 10);
    use(world, {1, 2});
    EXPECT_EQ(world.control->survivors(), by_bytes ? Survivors{1} : Survivors{0});
  }
}

TEST(PolicyTest, ValueKeepsWhatIsDear) {
  ExclusiveWorld dear({.max_idle = 1}, {.policy = Policy::value});
  dear.control->set_build_cost(1, 1000ns);
  dear.control->set_build_cost(2, 10ns);
  use(dear, {1, 2});
  EXPECT_EQ(dear.control->survivors(), Survivors{0});
}

/// Uses key 1 in turn with ten keys that never come again.
void use_ten_rounds(ExclusiveWorld& world) {
  for (int key = 0; key < 20; ++key) world.control->set_build_cost(key, 10ns);
  for (int round = 0; round < 10; ++round) use(world, {1, 2 + round});
}

TEST(PolicyTest, ValueKeepsWhatComesAgain) {
  ExclusiveWorld value({.max_idle = 1}, {.policy = Policy::value});
  use_ten_rounds(value);
  EXPECT_EQ(value.control->created(1), 2U) << "it learns so when key 1 comes for the second time";
  ExclusiveWorld lru({.max_idle = 1}, {.policy = Policy::lru});
  use_ten_rounds(lru);
  EXPECT_EQ(lru.control->created(1), 10U);
}

TEST(PolicyTest, ValueIsTheDefault) {
  ExclusiveWorld world({.max_idle = 1});
  world.control->set_build_cost(1, 1000ns);
  world.control->set_build_cost(2, 10ns);
  use(world, {1, 2});
  EXPECT_EQ(world.control->survivors(), Survivors{0}) << "lru would have kept the second";
}

TEST(PolicyTest, ValueRemembersAKeyBeyondItsEviction) {
  ExclusiveWorld world({.max_idle = 1}, {.policy = Policy::value});
  use_ten_rounds(world);
  (void)world->trim(Budget::unlimited);
  EXPECT_EQ(world.control->survivors(), Survivors{});
  use(world, {1, 15});
  const std::uint64_t created = world.control->created();
  EXPECT_EQ(world.control->survivors(), Survivors{created - 2}) << "key 1 counts its uses from before";
}

TEST(PolicyTest, AllBuiltInPoliciesGiveSpareHandlesUpBeforeOnlyOnes) {
  for (const Policy* policy : {&Policy::value, &Policy::gds}) {
    ExclusiveWorld world({.max_idle = 3}, {.policy = *policy});
    for (const int key : {1, 2}) world.control->set_build_cost(key, 10ns);
    {
      const auto a = world->acquire(1);
      const auto b = world->acquire(1);
      const auto c = world->acquire(1);
    }
    use(world, {2});
    EXPECT_EQ(world->stats().idle, 3U) << policy->name;
    EXPECT_EQ(world.control->created(2), 1U);
    EXPECT_FALSE(world.control->is_destroyed(3)) << policy->name << ": the only handle of key 2 stays";
  }
}

TEST(PolicyTest, TheSameCallsGiveTheSameVictims) {
  const auto survivors_of_a_run = [](const Policy& policy) {
    ExclusiveWorld world({.max_idle = 8}, {.policy = policy});
    for (int key = 0; key < 32; ++key) world.control->set_build_cost(key, std::chrono::nanoseconds(1 + key * 7 % 13));
    for (int step = 0; step < 500; ++step) use(world, {(step * step + 3 * step) % 32});
    return world.control->survivors();
  };
  for (const Policy* policy : {&Policy::value, &Policy::lru, &Policy::gds})
    EXPECT_EQ(survivors_of_a_run(*policy), survivors_of_a_run(*policy)) << policy->name;
}

std::vector<EntryView> seen;  // by highest_cost_goes, which is a plain function

double highest_cost_goes(const EntryView& entry) noexcept {
  seen.push_back(entry);
  return -entry.build_cost;
}

TEST(PolicyTest, APolicyOfOnesOwnSeesWhatTheCacheKnows) {
  seen.clear();
  ExclusiveWorld world({.max_idle = 2, .max_idle_bytes = 1000}, {.policy = Policy{"mine", highest_cost_goes}});
  world.control->set_build_cost(1, 30ns);
  world.control->set_build_cost(2, 20ns);
  world.control->set_build_cost(3, 10ns);
  world.control->set_bytes(1, 7);
  use(world, {1, 1, 1, 2, 3});
  EXPECT_EQ(world.control->survivors(), (Survivors{1, 2})) << "key 1 cost most";
  ASSERT_FALSE(seen.empty());
  const EntryView& first = seen.front();
  EXPECT_DOUBLE_EQ(first.build_cost, 30);
  EXPECT_DOUBLE_EQ(first.size, 7);
  EXPECT_EQ(first.uses, 3U);
  EXPECT_EQ(first.spare, 0U);
  EXPECT_GT(first.return_rate, 0);
  EXPECT_GT(first.age, 0);
}

/// Which handles are there after each of many random requests with up to three leases open.
auto survivors_of_random_requests(const Policy& policy) {
  ExclusiveWorld world({.max_idle = 12, .max_idle_bytes = 900}, {.policy = policy});
  std::minstd_rand random(7);
  for (int key = 0; key < 40; ++key) {
    world.control->set_build_cost(key, std::chrono::nanoseconds(1000 + random() % 100000));
    world.control->set_bytes(key, 10 + random() % 100);
  }
  std::vector<decltype(world->acquire(1))> leases;
  std::vector<decltype(world.control->survivors())> survivors;
  for (int step = 0; step < 3000; ++step) {
    leases.push_back(world->acquire(static_cast<int>(std::min(random() % 40, random() % 40))));
    while (leases.size() > random() % 4) {
      leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(random() % leases.size()));
    }
    survivors.push_back(world.control->survivors());
  }
  EXPECT_GT(world->stats().evicted(), 500U);
  return survivors;
}

TEST(PolicyTest, AScoreThatHoldsChoosesTheVictimsThatOneComputedForEachScanDoes) {
  for (const Policy* policy : {&Policy::value, &Policy::lru, &Policy::gds}) {
    const Policy computed_anew{"anew", policy->score, Aging::changes};
    const auto held = survivors_of_random_requests(*policy);
    const auto anew = survivors_of_random_requests(computed_anew);
    for (std::size_t step = 0; step < held.size(); ++step) {
      ASSERT_EQ(held[step], anew[step]) << policy->name << ", step " << step;
    }
  }
}

TEST(PolicyTest, SizesAreOneWithoutAByteBudget) {
  seen.clear();
  ExclusiveWorld world({.max_idle = 1}, {.policy = Policy{"mine", highest_cost_goes}});
  world.control->set_bytes_of_all(500);
  use(world, {1, 2});
  ASSERT_FALSE(seen.empty());
  EXPECT_DOUBLE_EQ(seen.front().size, 1);
}

TEST(PolicyTest, TheBuildCostIsSmoothed) {
  seen.clear();
  ExclusiveWorld world({.max_idle = 1}, {.policy = Policy{"mine", highest_cost_goes}});
  world.control->set_build_cost(1, 100ns);
  (void)world->acquire(1);
  (void)world->trim(Budget::unlimited);
  world.control->set_build_cost(1, 1000ns);
  use(world, {1, 2});
  ASSERT_FALSE(seen.empty());
  const auto of_key_1 = *std::find_if(seen.begin(), seen.end(), [](const EntryView& e) { return e.build_cost > 0; });
  EXPECT_GT(of_key_1.build_cost, 100) << "the second sample counts";
  EXPECT_LT(of_key_1.build_cost, 1000) << "but not alone";
}

TEST(PolicyTest, PoliciesAreFoundByName) {
  EXPECT_EQ(Policy::find("value"), &Policy::value);
  EXPECT_EQ(Policy::find("lru"), &Policy::lru);
  EXPECT_EQ(Policy::find("gds"), &Policy::gds);
  EXPECT_EQ(Policy::find("LRU"), nullptr);
  EXPECT_EQ(Policy::find(""), nullptr);
}

}  // namespace
}  // namespace larder::core_tests
