// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles that belong to a device context: every call is made in the handle's own context, the caller's stays as it was,
// and a context that is gone is not called into.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

#include "doubles/device_plans.hpp"

namespace larder::core_tests {
namespace {

using doubles::ContextPlans;
using gpu::Context;
using testing::IsEmpty;

class ContextTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(driver.violations(), IsEmpty()); }

  doubles::SimulatedDriver driver;
  Context a = driver.create_context();
  Context b = driver.create_context();
  HandleCache<ContextPlans> cache{{}, {}, ContextPlans(driver)};
};

TEST_F(ContextTest, SameShapeInTwoContextsIsTwoHandles) {
  const auto in_a = cache.acquire({a, 8});
  const auto in_b = cache.acquire({b, 8});
  EXPECT_EQ(in_a->context, a);
  EXPECT_EQ(in_b->context, b);
  EXPECT_EQ(driver.objects_created(), 2U);
}

TEST_F(ContextTest, AReturnUnderAnotherContextFilesTheHandleUnderItsOwn) {
  driver.set_current(a);
  auto lease = cache.acquire({a, 8});
  driver.set_current(b);
  lease.release();
  EXPECT_EQ(driver.current(), b);
  EXPECT_FALSE(cache.try_acquire({b, 8}));
  EXPECT_TRUE(cache.try_acquire({a, 8}));
  cache.clear();
  EXPECT_EQ(driver.objects_destroyed(), 1U);
  EXPECT_EQ(driver.current(), b);
}

TEST_F(ContextTest, AThreadThatNeverHadAContextMayDestroy) {
  (void)cache.acquire({a, 8});
  std::thread([this] {
    cache.clear();
    EXPECT_THAT(driver.stack(), IsEmpty());
  }).join();
  EXPECT_EQ(driver.objects_destroyed(), 1U);
}

TEST_F(ContextTest, EveryWayOutSeesTheMakersContext) {
  driver.set_current(b);
  const std::vector<Context> before = driver.stack();
  cache.set_budget({.max_idle = 1});
  (void)cache.acquire({a, 1});
  (void)cache.acquire({a, 2});  // evicts
  (void)cache.trim(1);
  cache.acquire({a, 3}).discard();
  (void)cache.acquire({a, 4});
  cache.clear();
  cache.acquire({a, 5}).release_deferred();
  cache.drain();
  {
    HandleCache<ContextPlans> dying({}, {}, ContextPlans(driver));
    (void)dying.acquire({a, 6});
  }
  EXPECT_EQ(driver.objects_destroyed(), 5U);
  EXPECT_EQ(driver.stack(), before);
}

TEST_F(ContextTest, ALibraryThatSwitchesTheDeviceDoesNotSwitchTheCallers) {
  driver.make_library_switch_to(b);
  driver.set_current(a);
  (void)cache.acquire({a, 8});
  EXPECT_EQ(driver.current(), a);
  cache.clear();
  EXPECT_EQ(driver.current(), a);
}

TEST_F(ContextTest, TheCallersContextIsRestoredWhenACallThrows) {
  driver.set_current(b);
  (void)cache.acquire({a, 8});
  for (const char* member : {"create_object", "prepare", "reset", "bytes", "destroy"}) {
    bool threw = false;
    driver.set_hook([member, &threw](const std::string& called) {
      if (called != member) return;
      threw = true;
      throw std::runtime_error(called);
    });
    try {
      (void)cache.acquire({a, 9});
    } catch (const std::runtime_error&) {
    }
    cache.clear();
    driver.set_hook({});
    EXPECT_TRUE(threw) << member;
    EXPECT_EQ(driver.stack(), std::vector<Context>{b}) << member;
  }
  EXPECT_EQ(cache.stats().live, 0U);
}

TEST_F(ContextTest, InvalidateForgetsTheIdleWithoutDestroying) {
  (void)cache.acquire({a, 8});
  (void)cache.acquire({b, 8});
  driver.lose_context(a);
  cache.invalidate(a);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(cache.stats().evicted(EvictionCause::invalidated), 1U);
  EXPECT_TRUE(cache.try_acquire({b, 8}));
}

TEST_F(ContextTest, ALeaseOfAnInvalidatedContextIsForgottenWithoutACall) {
  auto lease = cache.acquire({a, 8});
  driver.lose_context(a);
  cache.invalidate(a);
  int calls = 0;
  driver.set_hook([&calls](const std::string&) { ++calls; });
  lease.release();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(cache.stats().live, 0U);
  driver.set_hook({});
}

TEST_F(ContextTest, ALeaseReturnedAfterItsContextIsGoneIsForgottenAlsoUnannounced) {
  auto lease = cache.acquire({a, 8});
  driver.lose_context(a);
  lease.release();
  cache.clear();
  EXPECT_EQ(cache.stats().abandoned, 1U);
}

TEST_F(ContextTest, ADiscardInAContextThatIsGoneIsForgotten) {
  auto lease = cache.acquire({a, 8});
  driver.lose_context(a);
  lease.discard();
  EXPECT_EQ(cache.stats().abandoned, 1U);
}

TEST_F(ContextTest, AnIdleHandleOfAContextThatIsGoneIsAbandonedWhenItsTurnComes) {
  (void)cache.acquire({a, 8});
  driver.lose_context(a);
  cache.clear();
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(ContextTest, ANewContextAtTheOldAddressIsAnother) {
  (void)cache.acquire({a, 8});
  driver.lose_context(a);
  const Context again = driver.create_context();
  ASSERT_EQ(again.native, a.native);
  ASSERT_NE(again.id, a.id);
  cache.invalidate(a);
  const auto lease = cache.acquire({again, 8});
  EXPECT_EQ(lease->object, 2U);
  EXPECT_EQ(lease->context, again);
}

TEST_F(ContextTest, AHandleInvalidatedDuringItsBuildIsForgottenAtItsReturn) {
  driver.set_hook([this](const std::string& member) {
    if (member == "create_object") cache.invalidate(a);
  });
  auto lease = cache.acquire({a, 8});
  driver.set_hook({});
  lease.release();
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(ContextTest, ARetryGivesUpOnlyTheHandlesOfTheSameContext) {
  (void)cache.acquire({a, 8});
  (void)cache.acquire({b, 8});
  bool failed = false;
  driver.set_hook([&failed](const std::string& member) {
    if (member == "create_object" && !std::exchange(failed, true))
      throw BuildFailed("fake", 2, "FAKE_ALLOC_FAILED", "a key", Retry::after_reclaim);
  });
  (void)cache.acquire({a, 9});
  driver.set_hook({});
  EXPECT_EQ(driver.objects_destroyed(), 1U);
  EXPECT_TRUE(cache.try_acquire({b, 8}));
}

TEST_F(ContextTest, AnEnterThatFailsAtDestroyLosesNothingAndStopsNoOther) {
  for (int size = 1; size <= 3; ++size) (void)cache.acquire({a, size});
  int enters = 0;
  driver.set_hook([&enters](const std::string& member) {
    if (member == "push" && ++enters == 2) throw std::runtime_error("cannot enter");
  });
  cache.clear();
  driver.set_hook({});
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(driver.objects_destroyed(), 2U);
  EXPECT_EQ(driver.objects_created(), driver.objects_destroyed() + stats.abandoned)
      << "a handle that could not be destroyed was abandoned";
}

}  // namespace
}  // namespace larder::core_tests
