// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases from the field that concern threads: handles in two hands, locks held during builds, builds done twice.
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <larder/reclaim.hpp>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

TEST(HandleCacheCases, C40_OneKeyInSixteenThreadsIsNeverInTwoHands) {
  ExclusiveWorld world({.max_idle = 8});
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&world, t] {
      for (int i = 0; i < 1000; ++i) {
        const auto lease = world->acquire(1);
        const doubles::Use use(*world.control, *lease);
        const long stamp = t * 1000 + i;
        (*lease)->scratch = stamp;
        if (i % 16 == 0) std::this_thread::yield();
        if ((*lease)->scratch != stamp) world.control->violate(**lease, "lost its stamp");
      }
    });
  }
  join(threads);
  EXPECT_LE(world->stats().idle, 8U);
  EXPECT_EQ(world->stats().leased, 0U);
}

TEST(HandleCacheCases, C43_NothingWaitsForABuildOfAnotherKey) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.control->gate(Call::create).close();
  std::thread builder([&world] { (void)world->acquire(2); });
  world.control->gate(Call::create).wait_until_held();
  // Each of these would hang if the build held a lock of the cache.
  std::thread others([&world] {
    auto lease = world->acquire(1);
    EXPECT_TRUE(lease);
    lease.release();
    EXPECT_FALSE(world->try_acquire(2));
    EXPECT_FALSE(world->try_acquire(3));
    world->set_budget({.max_idle = 5});
    EXPECT_EQ(world->stats().idle, 1U);
    (void)world->trim(1);
    world->drain();
    (void)reclaim();
    world->clear();
    EXPECT_EQ(world->stats().idle, 0U);
  });
  others.join();
  EXPECT_EQ(world.control->created(), 1U) << "the build is still held up";
  world.control->gate(Call::create).open();
  builder.join();
}

TEST(HandleCacheCases, C43_ADestroyHoldsNobodyUp) {
  ExclusiveWorld world({.max_idle = 1}, by_recency());
  (void)world->acquire(1);
  world.control->gate(Call::destroy).close();
  std::thread evicting([&world] { (void)world->acquire(2); });
  world.control->gate(Call::destroy).wait_until_held();
  (void)world->acquire(2);
  EXPECT_FALSE(world->try_acquire(1));
  EXPECT_EQ(world->stats().live, 2U) << "what is being destroyed is live";
  EXPECT_EQ(world->stats().idle, 1U);
  (void)world->trim(0);
  world.control->gate(Call::destroy).open();
  evicting.join();
}

TEST(HandleCacheCases, C44_ThirtyTwoColdThreadsCauseOneBuildOfASharedHandle) {
  SharedWorld world;
  world.control->gate(Call::create).close();
  std::vector<std::thread> threads;
  std::vector<doubles::RemoteHandle> handles(32);
  for (std::size_t t = 0; t < 32; ++t) {
    threads.emplace_back([&world, &handles, t] { handles[t] = *world->acquire(1); });
  }
  while (world->stats().misses < 32) std::this_thread::yield();
  world.control->gate(Call::create).open();
  join(threads);
  EXPECT_EQ(world.control->created(), 1U);
  for (const auto& handle : handles) EXPECT_EQ(handle, handles.front());
  EXPECT_EQ(world->stats().idle, 1U);
}

TEST(HandleCacheCases, C45_AThrowingCreateReachesEveryWaiterAndPoisonsNothing) {
  SharedWorld world;
  world.control->throw_at(Call::create, 1);
  world.control->gate(Call::create).close();
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      try {
        (void)world->acquire(1);
      } catch (const doubles::RemoteFailure&) {
        errors.fetch_add(1);
      }
    });
  }
  while (world->stats().misses < 8) std::this_thread::yield();
  world.control->gate(Call::create).open();
  join(threads);
  EXPECT_EQ(errors.load(), 8);
  EXPECT_EQ(world.control->created(), 0U);
  EXPECT_TRUE(world->acquire(1));
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(HandleCacheCases, C46_HitsGoOnWhileDestroysAreSlow) {
  ExclusiveWorld world({.max_idle = 4}, by_recency());
  for (int key = 0; key < 4; ++key) (void)world->acquire(key);
  world.control->gate(Call::destroy).close();
  std::vector<std::thread> evicting;
  for (int key = 100; key < 102; ++key) evicting.emplace_back([&world, key] { (void)world->acquire(key); });
  world.control->gate(Call::destroy).wait_until_held(2);
  // Two evictions are stuck in destroy, and stay so until all hits are done: keys 2 and 3 are the ones that were kept.
  std::vector<std::thread> hitting;
  for (int key = 2; key < 4; ++key) {
    hitting.emplace_back([&world, key] {
      for (int i = 0; i < 1000; ++i) (void)world->acquire(key);
    });
  }
  join(hitting);
  EXPECT_EQ(world->stats().hits, 2000U);
  EXPECT_EQ(world->stats().destroys, 0U);
  world.control->gate(Call::destroy).open();
  join(evicting);
  EXPECT_EQ(world->stats().destroys, 2U);
}

TEST(HandleCacheCases, C47_ALeaseStaysGoodWhateverHappensToItsCache) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  world->clear();
  world->set_budget({.max_idle = 0});
  (void)world->trim(Budget::unlimited);
  (void)reclaim();
  world->clear();
  { const doubles::Use use(*world.control, *lease); }
  EXPECT_EQ(world.control->destroyed(), 0U);
  lease.release();
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(HandleCacheCases, C48_ResetRunsDuringUnwinding) {
  ExclusiveWorld world;
  try {
    const auto lease = world->acquire(1);
    throw std::runtime_error("the vendor's call failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(world.control->calls(Call::reset), 1U);
  EXPECT_EQ(world->stats().idle, 1U);
}

TEST(HandleCacheCases, C48_AFailingResetDestroysTheHandle) {
  ExclusiveWorld world;
  world.control->throw_at(Call::reset, 1);
  try {
    const auto lease = world->acquire(1);
    throw std::runtime_error("the vendor's call failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ(world->stats().idle, 0U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::discarded), 1U);
}

}  // namespace
}  // namespace larder::core_tests
