// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options::max_live: at most so many handles at once; waiting for one, with and without a deadline.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;
using doubles::ExclusiveFactory;
using std::chrono::steady_clock;
using testing::HasSubstr;

TEST(MaxLiveTest, ADeadlineThatPassesNamesTheKeyAndTheLimit) {
  ExclusiveWorld world({}, {.max_live = 1});
  const auto lease = world->acquire(1);
  try {
    (void)world->acquire(2, steady_clock::now() + 1ms);
    FAIL() << "no error";
  } catch (const DeadlineExceeded& error) {
    EXPECT_THAT(error.what(), HasSubstr("key 2"));
    EXPECT_THAT(error.what(), HasSubstr("1"));
    EXPECT_THAT(error.what(), HasSubstr("max_live"));
  }
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(MaxLiveTest, AnIdleHandleOfAnotherKeyMakesRoomFirst) {
  ExclusiveWorld world({}, {.policy = Policy::lru, .max_live = 2});
  (void)world->acquire(1);
  (void)world->acquire(2);
  std::size_t live_at_create = 99;
  world.control->on(Call::create, [&](int) { live_at_create = world.control->live(); });
  const auto lease = world->acquire(3);
  EXPECT_EQ(live_at_create, 1U) << "the victim is gone before its successor is built";
  EXPECT_EQ(world.control->survivors(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(world->stats().evicted(EvictionCause::budget), 1U);
  world.control->on(Call::create, nullptr);
}

TEST(MaxLiveTest, AnIdleHandleOfTheKeyIsAHit) {
  ExclusiveWorld world({}, {.max_live = 1});
  (void)world->acquire(1);
  const auto lease = world->acquire(1, steady_clock::now());
  EXPECT_TRUE(lease);
}

TEST(MaxLiveTest, AReturnWakesWhoWaits) {
  for (const int wanted : {1, 2}) {
    ExclusiveWorld world({}, {.max_live = 1});
    auto lease = world->acquire(1);
    std::atomic<bool> served{false};
    std::thread waiter([&] {
      const auto mine = world->acquire(wanted);
      served = true;
    });
    while (world->stats().misses < 2) std::this_thread::yield();
    EXPECT_FALSE(served.load());
    lease.release();
    waiter.join();
    EXPECT_TRUE(served.load());
    EXPECT_EQ(world.control->created(), wanted == 1 ? 1U : 2U);
  }
}

TEST(MaxLiveTest, AClearedHandleMakesRoomWhenItIsReturned) {
  ExclusiveWorld world({}, {.max_live = 1});
  auto lease = world->acquire(1);
  std::thread waiter([&] { (void)world->acquire(1); });
  while (world->stats().misses < 2) std::this_thread::yield();
  world->clear();
  lease.release();
  waiter.join();
  EXPECT_EQ(world.control->created(), 2U);
}

TEST(MaxLiveTest, AFailedBuildMakesRoom) {
  ExclusiveWorld world({}, {.max_live = 1});
  world.control->throw_at(Call::create, 1);
  world.control->gate(Call::create).close();
  std::thread failing([&] { EXPECT_THROW((void)world->acquire(1), doubles::RemoteFailure); });
  world.control->gate(Call::create).wait_until_held();
  std::thread waiter([&] { (void)world->acquire(2); });
  while (world->stats().misses < 2) std::this_thread::yield();
  world.control->gate(Call::create).open();
  failing.join();
  waiter.join();
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(MaxLiveTest, IsNeverExceededByManyThreads) {
  ExclusiveWorld world({}, {.max_live = 3});
  std::atomic<int> live{0};
  std::atomic<int> most{0};
  world.control->on(Call::create, [&](int) {
    const int now = ++live;
    int seen = most.load();
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
  });
  world.control->on(Call::destroy, [&](int) { --live; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&world, t] {
      for (int i = 0; i < 50; ++i) (void)world->acquire((t + i) % 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), 3);
  EXPECT_LE(world->stats().peak_live, 3U);
  world.control->on(Call::create, nullptr);
  world.control->on(Call::destroy, nullptr);
}

TEST(MaxLiveTest, PrewarmDoesNotWaitForRoom) {
  ExclusiveWorld world({}, {.max_live = 2});
  const auto lease = world->acquire(1);
  world->prewarm(2, 5);
  EXPECT_EQ(world.control->created(), 2U);
}

TEST(MaxLiveTest, ADeferredReturnServesWhoWaits) {
  ExclusiveWorld world({}, {.max_live = 1});
  auto lease = world->acquire(1);
  std::thread waiter([&] { (void)world->acquire(2); });
  while (world->stats().misses < 2) std::this_thread::yield();
  lease.release_deferred();
  waiter.join();
  EXPECT_EQ(world.control->created(), 2U);
}

TEST(MaxLiveTest, ASharedWaiterForABuildMayGiveUp) {
  SharedWorld world;
  world.control->gate(Call::create).close();
  std::thread builder([&] { (void)world->acquire(1); });
  world.control->gate(Call::create).wait_until_held();
  try {
    (void)world->acquire(1, steady_clock::now() + 1ms);
    ADD_FAILURE() << "no error";
  } catch (const DeadlineExceeded& error) {
    EXPECT_THAT(error.what(), HasSubstr("key 1"));
  }
  world.control->gate(Call::create).open();
  builder.join();
  EXPECT_EQ(world->stats().leased, 0U);
  EXPECT_EQ(world->stats().idle, 1U);
}

TEST(MaxLiveTest, ASharedHandleCountsOnceHoweverManyLeaseIt) {
  SharedWorld world({}, {.max_live = 1});
  const auto a = world->acquire(1);
  const auto b = world->acquire(1, steady_clock::now());
  EXPECT_EQ(*a, *b);
}

}  // namespace
}  // namespace larder::core_tests
