// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases from the field that concern eviction. C21, random trials against a model, is in model_test.cpp.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;
using Survivors = std::vector<std::uint64_t>;

TEST(HandleCacheCases, C20_HotKeysAreBuiltOnceBesideKeysUsedOnce) {
  for (const Policy* policy : {&Policy::lru, &Policy::value, &Policy::gds}) {
    for (const auto& [hot, cold] : std::vector<std::pair<int, int>>{{1, 4}, {4, 4}, {8, 8}, {16, 4}}) {
      ExclusiveWorld world({.max_idle = 64}, {.policy = *policy});
      int next_cold = 1000;
      for (int key = 0; key < hot; ++key) world.control->set_build_cost(key, 10us);
      for (int iteration = 0; iteration < 200; ++iteration) {
        for (int key = 0; key < hot; ++key) (void)world->acquire(key);
        for (int i = 0; i < cold; ++i) {
          world.control->set_build_cost(next_cold, 10us);
          (void)world->acquire(next_cold++);
        }
      }
      std::uint64_t hot_builds = 0;
      for (int key = 0; key < hot; ++key) hot_builds += world.control->created(key);
      EXPECT_EQ(hot_builds, static_cast<std::uint64_t>(hot)) << policy->name << ' ' << hot << ' ' << cold;
      EXPECT_EQ(world.control->created(), static_cast<std::uint64_t>(hot + 200 * cold));
    }
  }
}

TEST(HandleCacheCases, C22_ShrinkingAFullCacheOfTenToFiveKeepsFive) {
  ExclusiveWorld world({.max_idle = 10}, by_recency());
  for (int key = 0; key < 10; ++key) (void)world->acquire(key);
  world->set_budget({.max_idle = 5});
  EXPECT_EQ(world.control->survivors(), (Survivors{5, 6, 7, 8, 9}));
}

TEST(HandleCacheCases, C22_AReturnIntoACacheOfCapacityZeroDestroys) {
  ExclusiveWorld world({.max_idle = 10});
  auto lease = world->acquire(1);
  world->set_budget({.max_idle = 0});
  lease.release();
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ(world->stats().live, 0U);
}

TEST(HandleCacheCases, C23_TheVictimIsTheOneNotTouched) {
  ExclusiveWorld world({.max_idle = 2}, by_recency());
  (void)world->acquire(1);  // handle 0
  (void)world->acquire(2);  // handle 1
  (void)world->acquire(1);  // touched
  (void)world->acquire(3);  // handle 2
  EXPECT_EQ(world.control->survivors(), (Survivors{0, 2}));
}

TEST(HandleCacheCases, C24_AFullCacheTakesInNewKeys) {
  ExclusiveWorld world({.max_idle = 64}, by_recency());
  for (int key = 0; key < 64; ++key) (void)world->acquire(key);
  for (int round = 0; round < 125; ++round) {
    for (int key = 100; key < 108; ++key) (void)world->acquire(key);
  }
  EXPECT_EQ(world.control->created(), 72U);
}

TEST(HandleCacheCases, C25_ALimitOf32Keeps32) {
  ExclusiveWorld all({.max_idle = 32});
  for (int key = 0; key < 40; ++key) (void)all->acquire(key);
  EXPECT_EQ(all->stats().idle, 32U);

  ExclusiveWorld of_a_key({.max_idle_per_key = 32});
  {
    std::vector<Lease<doubles::ExclusiveFactory>> leases;
    for (int i = 0; i < 40; ++i) leases.push_back(of_a_key->acquire(1));
  }
  EXPECT_EQ(of_a_key->stats().idle, 32U);
}

}  // namespace
}  // namespace larder::core_tests
