// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases from the field that concern memory: limits that did not hold, and handles that were lost when something failed.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <larder/reclaim.hpp>

#include "core/world.hpp"
#include "doubles/recording_listener.hpp"

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;

TEST(HandleCacheCases, C01_DistinctKeysStayWithinMaxIdle) {
  for (const Policy* policy : {&Policy::value, &Policy::lru, &Policy::gds}) {
    ExclusiveWorld world({.max_idle = 32}, {.policy = *policy});
    std::size_t most_idle = 0;
    for (int key = 0; key < 10'000; ++key) {
      (void)world->acquire(key);
      most_idle = std::max(most_idle, world->stats().idle);
    }
    EXPECT_EQ(most_idle, 32U) << policy->name;
    EXPECT_EQ(world.control->created(), 10'000U) << policy->name;
    EXPECT_EQ(world.control->destroyed(), 9'968U) << policy->name;
  }
}

TEST(HandleCacheCases, C02_AByteBudgetHoldsAndOneReclaimEmptiesEveryCache) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  ExclusiveWorld world({.max_idle_bytes = 64 * mib});
  SharedWorld other;
  world.control->set_bytes_of_all(mib / 2);
  other.control->set_bytes_of_all(mib);
  for (int key = 0; key < 10; ++key) (void)other->acquire(key);
  std::size_t most = 0;
  for (int key = 0; key < 10'000; ++key) {
    (void)world->acquire(key);
    most = std::max(most, world->stats().idle_bytes);
  }
  EXPECT_EQ(most, 64 * mib);
  EXPECT_EQ(reclaim(), 74 * mib);
  EXPECT_EQ(world->stats().idle_bytes, 0U);
  EXPECT_EQ(other->stats().idle_bytes, 0U);
}

TEST(HandleCacheCases, C03_HandlesDoNotOutliveTheBudgetWithTheirThreads) {
  ExclusiveWorld world({.max_idle = 16});
  for (int t = 0; t < 200; ++t) {
    std::thread([&world, t] {
      for (int key = 0; key < 10; ++key) (void)world->acquire(t * 10 + key);
    }).join();
    EXPECT_LE(world->stats().idle, 16U);
  }
  world->clear();
  EXPECT_EQ(world->stats().live, 0U);
  EXPECT_EQ(world.control->live(), 0U);
}

TEST(HandleCacheCases, C04_ManyThreadsShareOneBudget) {
  ExclusiveWorld world({.max_idle = 20});
  std::vector<std::thread> threads;
  for (int t = 0; t < 32; ++t) {
    threads.emplace_back([&world, t] {
      for (int key = 0; key < 100; ++key) (void)world->acquire(t * 100 + key);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world->stats().idle, 20U);
  EXPECT_EQ(world.control->live(), 20U);
  EXPECT_EQ(world.control->created(), 3200U);
}

/// A library whose handles are made in two steps: allocated, then planned; as cuFFT and hipFFT do.
struct TwoSteps {
  struct Library {
    int allocated = 0;
    int freed = 0;
    int failing_plans = 0;
    int attempts = 0;
  };
  using Key = int;
  using Handle = int;

  int create(int key) {
    ++library->attempts;
    const int handle = ++library->allocated;
    if (library->failing_plans > 0) {
      --library->failing_plans;
      ++library->freed;
      throw BuildFailed("two-step", 2, "ALLOC_FAILED", std::to_string(key), Retry::after_reclaim);
    }
    return handle;
  }
  void destroy(int, int) { ++library->freed; }
  [[nodiscard]] std::size_t bytes(int, int) const { return 1; }

  Library* library;
};

TEST(HandleCacheCases, C06_AnAllocationFailureIsRetriedWithANewHandleAfterGivingUpIdleOnes) {
  TwoSteps::Library library;
  HandleCache<TwoSteps> cache({}, {}, TwoSteps{&library});
  for (int key = 0; key < 3; ++key) (void)cache.acquire(key);
  library.failing_plans = 1;
  const auto lease = cache.acquire(9);
  EXPECT_TRUE(lease) << "the caller sees success";
  EXPECT_EQ(*lease, 5) << "not the fourth handle, whose plan failed";
  EXPECT_EQ(library.allocated, 5);
  EXPECT_EQ(library.freed, 4) << "three idle handles and the half-made one";
  EXPECT_EQ(cache.stats().live, 1U);
}

TEST(HandleCacheCases, C07_TheListenerHearsOfEachFailedCreateOnce) {
  doubles::RecordingListener listener;
  ExclusiveWorld world({}, {.listener = &listener});
  const auto failures_heard = [&listener] {
    const auto events = listener.events();
    return std::count_if(events.begin(), events.end(), [](const auto& e) { return e.rfind("build failed", 0) == 0; });
  };
  world.control->throw_at(Call::create, 1);
  EXPECT_ANY_THROW((void)world->acquire(1));
  EXPECT_EQ(failures_heard(), 1);
  world.control->throw_at(Call::create, 1, doubles::out_of_memory());
  (void)world->acquire(1);
  EXPECT_EQ(failures_heard(), 2) << "the first of two attempts failed";
  world.control->throw_at(Call::create, 1, doubles::out_of_memory());
  world.control->throw_at(Call::create, 2, doubles::out_of_memory());
  EXPECT_ANY_THROW((void)world->acquire(2));
  EXPECT_EQ(failures_heard(), 4) << "both attempts failed";
  EXPECT_EQ(world->stats().build_failures, 4U);
}

TEST(HandleCacheCases, C08_AHandleThatWasMadeIsDestroyedWhenWhatFollowsThrows) {
  for (const Call call : {Call::prepare, Call::bytes}) {
    const auto control = std::make_shared<doubles::RemoteControl>();
    HandleCache<ExclusiveFactory> cache({}, {}, ExclusiveFactory(control));
    control->throw_at(call, 1);
    EXPECT_ANY_THROW((void)cache.acquire(1));
    EXPECT_EQ(control->created(), 1U);
    EXPECT_EQ(control->destroyed(), 1U);
    EXPECT_EQ(cache.stats().live, 0U);
    EXPECT_TRUE(cache.acquire(1));
  }
}

TEST(HandleCacheCases, C09_ADroppedCacheLeavesNothing) {
  const auto control = std::make_shared<doubles::RemoteControl>();
  for (int round = 0; round < 100; ++round) {
    {
      HandleCache<ExclusiveFactory> cache({}, {}, ExclusiveFactory(control));
      for (int key = 0; key < 20; ++key) (void)cache.acquire(key);
    }
    EXPECT_EQ(control->live(), 0U);
    EXPECT_EQ(control.use_count(), 1) << "the factory is gone with the cache";
  }
  EXPECT_EQ(control->created(), 2000U);
}

TEST(HandleCacheCases, C10_OneCreateServesManyRequests) {
  ExclusiveWorld world;
  for (int i = 0; i < 52'000; ++i) (void)world->acquire(1);
  EXPECT_EQ(world.control->created(), 1U);
  EXPECT_EQ(world->stats().hits, 51'999U);
}

TEST(HandleCacheCases, C11_TheLedgerFollowsHandlesThatGrow) {
  ExclusiveWorld world({.max_idle_bytes = 100}, by_recency());
  world.control->set_bytes_of_all(30);
  for (int key = 0; key < 3; ++key) (void)world->acquire(key);
  EXPECT_EQ(world->stats().idle_bytes, 90U);
  {
    const auto lease = world->acquire(2);
    (*lease)->extra_bytes = 20;
  }
  EXPECT_EQ(world->stats().idle_bytes, 80U) << "50 + 30: the one used longest ago made room";
  EXPECT_EQ(world.control->survivors(), (std::vector<std::uint64_t>{1, 2}));
  {
    const auto lease = world->acquire(2);
    (*lease)->extra_bytes = 71;
  }
  EXPECT_EQ(world->stats().idle_bytes, 30U) << "larger than the whole budget: not kept, and nothing else goes";
}

TEST(HandleCacheCases, C11_ASharedHandleThatGrowsBetweenTwoReturnsIsNotKeptOverTheBudget) {
  SharedWorld world({.max_idle_bytes = 150});
  world.control->set_bytes_of_all(100);
  auto first = world->acquire(1);
  auto second = world->acquire(1);
  (*first)->extra_bytes = 300;
  first.release();
  second.release();
  EXPECT_EQ(world->stats().idle_bytes, 0U);
  EXPECT_EQ(world.control->survivors(), std::vector<std::uint64_t>{});
}

TEST(HandleCacheCases, C34_AfterADeviceResetHandlesAreForgottenNotDestroyed) {
  // In full with contexts in context_test.cpp; here by a library that has gone as a whole.
  ExclusiveWorld world;
  (void)world->acquire(1);
  auto lease = world->acquire(2);
  world.control->set_alive(false);
  world->clear();
  lease.release();
  EXPECT_EQ(world->stats().abandoned, 2U);
  EXPECT_EQ(world->stats().live, 0U);
  EXPECT_THAT(world.control->violations(), testing::IsEmpty());
  world.control->set_alive(true);
  EXPECT_EQ((*world->acquire(1))->number, 2U) << "the next request builds";
  world.destroy_cache();
}

}  // namespace
}  // namespace larder::core_tests
