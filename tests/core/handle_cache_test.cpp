// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HandleCache: requests, builds, failures, and calls back into the cache from everything it calls.
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/world.hpp"
#include "doubles/recording_listener.hpp"

namespace larder::core_tests {

/// All keys have one hash.
struct CollidingKey {
  int value = 0;
  friend bool operator==(const CollidingKey&, const CollidingKey&) = default;
};
[[nodiscard]] constexpr int key_number(const CollidingKey& key) noexcept { return key.value; }

}  // namespace larder::core_tests

template <>
struct std::hash<larder::core_tests::CollidingKey> {
  std::size_t operator()(const larder::core_tests::CollidingKey&) const noexcept { return 5; }
};

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;
using doubles::RemoteFailure;
using doubles::SharedFactory;
using testing::HasSubstr;

TEST(HandleCacheTest, AMissBuildsAndAHitDoesNot) {
  ExclusiveWorld world;
  {
    const auto lease = world->acquire(7);
    EXPECT_EQ((*lease)->key, 7);
  }
  {
    const auto lease = world->acquire(7);
    EXPECT_EQ((*lease)->number, 0U);
  }
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(HandleCacheTest, TwoExclusiveLeasesOfAKeyHoldTwoHandles) {
  ExclusiveWorld world;
  const auto a = world->acquire(1);
  const auto b = world->acquire(1);
  EXPECT_NE(*a, *b);
}

TEST(HandleCacheTest, TwoSharedLeasesOfAKeyHoldOneHandle) {
  SharedWorld world;
  const auto a = world->acquire(1);
  const auto b = world->acquire(1);
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(world.control->created(), 1U);
  EXPECT_EQ(world->stats().leased, 1U);
}

TEST(HandleCacheTest, ASharedHandleIsIdleWhenItsLastLeaseIsGone) {
  SharedWorld world({.max_idle = 0});
  auto a = world->acquire(1);
  auto b = world->acquire(1);
  a.release();
  EXPECT_EQ(world.control->destroyed(), 0U);
  b.release();
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(HandleCacheTest, KeysOfOneHashAreToldApart) {
  World<doubles::RemoteFactory<Sharing::exclusive, CollidingKey>> world;
  for (int round = 0; round < 3; ++round) {
    for (int key = 0; key < 4; ++key) {
      const auto lease = world->acquire(CollidingKey{key});
      EXPECT_EQ((*lease)->key, key);
    }
  }
  EXPECT_EQ(world.control->created(), 4U);
  EXPECT_EQ(world->stats().hits, 8U);
  EXPECT_EQ(world->stats().misses, 4U);
}

TEST(HandleCacheTest, SharedKeysOfOneHashAreToldApart) {
  World<doubles::RemoteFactory<Sharing::shared, CollidingKey>> world;
  for (int round = 0; round < 3; ++round) {
    const auto a = world->acquire(CollidingKey{1});
    const auto b = world->acquire(CollidingKey{2});
    EXPECT_NE(*a, *b);
  }
  EXPECT_EQ(world.control->created(), 2U);
}

TEST(HandleCacheTest, TryAcquireNeverBuilds) {
  ExclusiveWorld world;
  EXPECT_FALSE(world->try_acquire(1));
  EXPECT_EQ(world.control->calls(Call::create), 0U);
  (void)world->acquire(1);
  const auto lease = world->try_acquire(1);
  EXPECT_TRUE(lease);
  EXPECT_FALSE(world->try_acquire(1)) << "the only handle is leased";
}

TEST(HandleCacheTest, TryAcquireSharesALeasedSharedHandle) {
  SharedWorld world;
  const auto a = world->acquire(1);
  const auto b = world->try_acquire(1);
  ASSERT_TRUE(b);
  EXPECT_EQ(*a, *b);
}

TEST(HandleCacheTest, PrewarmBuildsWhatIsMissing) {
  ExclusiveWorld world;
  world->prewarm(1, 3);
  EXPECT_EQ(world.control->created(), 3U);
  world->prewarm(1, 2);
  EXPECT_EQ(world.control->created(), 3U);
  world->prewarm(1, 4);
  EXPECT_EQ(world.control->created(), 4U);
  EXPECT_EQ(world->stats().idle, 4U);
  EXPECT_EQ(world->stats().hits, 0U);
  EXPECT_EQ(world->stats().misses, 0U);
}

TEST(HandleCacheTest, PrewarmDoesNotCountWhatIsLeased) {
  ExclusiveWorld world;
  const auto lease = world->acquire(1);
  world->prewarm(1, 1);
  EXPECT_EQ(world.control->created(), 2U);
}

TEST(HandleCacheTest, PrewarmBuildsNoMoreThanTheBudgetKeeps) {
  ExclusiveWorld per_key({.max_idle_per_key = 2});
  per_key->prewarm(1, 5);
  EXPECT_EQ(per_key.control->created(), 2U);
  ExclusiveWorld nothing({.max_idle = 0});
  nothing->prewarm(1, 5);
  EXPECT_EQ(nothing.control->created(), 0U);
}

TEST(HandleCacheTest, PrewarmOfASharedKeyBuildsOne) {
  SharedWorld world;
  world->prewarm(1, 5);
  EXPECT_EQ(world.control->created(), 1U);
  world->prewarm(1);
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(HandleCacheTest, AFailingPrewarmKeepsWhatItBuilt) {
  ExclusiveWorld world;
  world.control->throw_at(Call::create, 3);
  EXPECT_THROW(world->prewarm(1, 5), RemoteFailure);
  EXPECT_EQ(world->stats().idle, 2U);
}

TEST(HandleCacheTest, PrewarmTakesInWhatCameBackDeferred) {
  ExclusiveWorld world;
  world->acquire(1).release_deferred();
  world->prewarm(1);
  EXPECT_EQ(world.control->created(), 1U) << "the handle that came back is one idle handle of the key";
}

TEST(HandleCacheTest, AFailingCreateReachesTheCallerAndLeavesNothing) {
  ExclusiveWorld world;
  world.control->throw_at(Call::create, 1);
  EXPECT_THROW((void)world->acquire(1), RemoteFailure);
  EXPECT_EQ(world->stats().live, 0U);
  EXPECT_EQ(world->stats().build_failures, 1U);
  const auto lease = world->acquire(1);
  EXPECT_TRUE(lease);
}

TEST(HandleCacheTest, ACreateThatThrowsSomethingElseReachesTheCaller) {
  struct Thrower {
    using Key = int;
    using Handle = int;
    int create(int) { throw 42; }
    void destroy(int, int) {}
  };
  HandleCache<Thrower> cache;
  EXPECT_THROW((void)cache.acquire(1), int);
  EXPECT_EQ(cache.stats().build_failures, 1U);
}

TEST(HandleCacheTest, AFailingPrepareDestroysTheHandleAndReachesTheCaller) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.control->throw_at(Call::prepare, 1);
  EXPECT_THROW((void)world->acquire(1), RemoteFailure);
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::discarded), 1U);
}

TEST(HandleCacheTest, AFailingPrepareOfANewHandleDestroysIt) {
  ExclusiveWorld world;
  world.control->throw_at(Call::prepare, 1);
  EXPECT_THROW((void)world->acquire(1), RemoteFailure);
  EXPECT_EQ(world.control->created(), 1U);
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(HandleCacheTest, PrepareRunsAtEveryAcquireAndResetAtEveryReturn) {
  ExclusiveWorld world;
  for (int use = 0; use < 3; ++use) (void)world->acquire(1);
  EXPECT_EQ(world.control->calls(Call::prepare), 3U);
  EXPECT_EQ(world.control->calls(Call::reset), 3U);
}

TEST(HandleCacheTest, AHandleWhoseBytesCannotBeToldIsNotKept) {
  ExclusiveWorld world;
  {
    const auto lease = world->acquire(1);
    world.control->throw_at(Call::bytes, 1);
  }
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(HandleCacheTest, ANewHandleWhoseBytesCannotBeToldIsDestroyed) {
  auto control = std::make_shared<doubles::RemoteControl>();
  HandleCache<ExclusiveFactory> cache({}, {}, ExclusiveFactory(control));
  control->throw_at(Call::bytes, 1);
  EXPECT_THROW((void)cache.acquire(1), RemoteFailure);
  EXPECT_EQ(control->created(), 1U);
  EXPECT_EQ(control->destroyed(), 1U);
  EXPECT_EQ(cache.stats().live, 0U);
}

TEST(HandleCacheTest, OneFailingDestroyStopsNoOther) {
  ExclusiveWorld world;
  for (int key = 0; key < 5; ++key) (void)world->acquire(key);
  world.control->throw_at(Call::destroy, 2);
  world->clear();
  EXPECT_EQ(world.control->destroyed(), 5U);
  EXPECT_EQ(world->stats().destroy_failures, 1U);
  EXPECT_EQ(world->stats().destroys, 5U);
}

TEST(HandleCacheTest, ClearDestroysTheIdleNowAndTheLeasedAtTheirReturn) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  auto lease = world->acquire(2);
  world->clear();
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ((*lease)->destroys.load(), 0);
  lease.release();
  EXPECT_EQ(world.control->destroyed(), 2U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::cleared), 2U);
}

TEST(HandleCacheTest, AClearedKeyIsBuiltAnew) {
  SharedWorld world;
  const auto old = world->acquire(1);
  world->clear();
  const auto fresh = world->acquire(1);
  EXPECT_NE(*old, *fresh);
}

TEST(HandleCacheTest, AHandleClearedDuringItsBuildServesItsLeaseAndGoes) {
  ExclusiveWorld world;
  world.control->on(Call::create, [&world](int) { world->clear(); });
  auto lease = world->acquire(1);
  EXPECT_TRUE(lease);
  lease.release();
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(HandleCacheTest, TrimFreesNoMoreThanItMust) {
  ExclusiveWorld world({}, by_recency());
  world.control->set_bytes_of_all(10);
  for (int key = 0; key < 5; ++key) (void)world->acquire(key);
  EXPECT_EQ(world->trim(15), 20U);
  EXPECT_EQ(world.control->survivors(), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(world->trim(0), 0U);
  EXPECT_EQ(world->stats().idle, 3U);
  EXPECT_EQ(world->trim(1000), 30U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::pressure), 5U);
}

TEST(HandleCacheTest, TrimLeavesLeasedHandlesAlone) {
  ExclusiveWorld world;
  world.control->set_bytes_of_all(10);
  const auto lease = world->acquire(1);
  EXPECT_EQ(world->trim(Budget::unlimited), 0U);
  EXPECT_EQ(world->stats().leased, 1U);
}

TEST(HandleCacheTest, TrimOfHandlesWithoutBytesGivesAllUp) {
  struct Plain {
    using Key = int;
    using Handle = int;
    int create(int key) { return key; }
    void destroy(int, int) {}
  };
  HandleCache<Plain> cache;
  for (int key = 0; key < 5; ++key) (void)cache.acquire(key);
  EXPECT_EQ(cache.trim(1), 0U);
  EXPECT_EQ(cache.stats().idle, 0U);
}

TEST(HandleCacheTest, ARetryableFailureGivesUpIdleHandlesAndTriesAgain) {
  ExclusiveWorld world;
  for (int key = 0; key < 4; ++key) (void)world->acquire(key);
  world.control->throw_at(Call::create, 1, doubles::out_of_memory());
  const auto lease = world->acquire(9);
  EXPECT_TRUE(lease);
  EXPECT_EQ(world.control->destroyed(), 4U);
  EXPECT_EQ(world->stats().build_failures, 1U);
  EXPECT_EQ(world->stats().evicted(EvictionCause::pressure), 4U);
}

TEST(HandleCacheTest, ASecondRetryableFailureReachesTheCaller) {
  ExclusiveWorld world;
  world.control->throw_at(Call::create, 1, doubles::out_of_memory());
  world.control->throw_at(Call::create, 2, doubles::out_of_memory());
  EXPECT_THROW((void)world->acquire(1), BuildFailed);
  EXPECT_EQ(world.control->calls(Call::create), 2U);
}

TEST(HandleCacheTest, AFailureThatIsNotRetryableGivesUpNothing) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.control->throw_at(Call::create, 1, BuildFailed("remote", 5, "REMOTE_BAD", "a key"));
  EXPECT_THROW((void)world->acquire(2), BuildFailed);
  EXPECT_EQ(world->stats().idle, 1U);
}

TEST(HandleCacheTest, BuildFailedSaysWhatFailed) {
  const BuildFailed failure("cufft", 2, "CUFFT_ALLOC_FAILED", "c2c 1024", Retry::after_reclaim);
  EXPECT_THAT(failure.what(), HasSubstr("cufft"));
  EXPECT_THAT(failure.what(), HasSubstr("CUFFT_ALLOC_FAILED"));
  EXPECT_THAT(failure.what(), HasSubstr("c2c 1024"));
  EXPECT_EQ(failure.code(), 2);
  EXPECT_EQ(failure.retry(), Retry::after_reclaim);
}

// Every call out of the cache may call back into it: none holds a lock of the cache.
TEST(HandleCacheTest, EveryFactoryMemberMayCallTheCache) {
  for (const Call call : {Call::create, Call::destroy, Call::prepare, Call::reset, Call::bytes}) {
    ExclusiveWorld world({.max_idle = 2});
    bool inside = false;
    int called = 0;
    world.control->on(call, [&](int) {
      if (inside) return;
      inside = true;
      ++called;
      (void)world->acquire(100);
      (void)world->try_acquire(101);
      world->prewarm(102);
      world->set_budget({.max_idle = 1});
      (void)world->trim(1);
      (void)world->stats();
      world->drain();
      world->clear();
      inside = false;
    });
    for (int key = 0; key < 5; ++key) (void)world->acquire(key);
    EXPECT_GT(called, 0);
    world.control->on(call, nullptr);
  }
}

TEST(HandleCacheTest, EveryEventMayCallTheCache) {
  doubles::RecordingListener listener;
  World<ExclusiveFactory> world({.max_idle = 2}, {.listener = &listener});
  bool inside = false;
  int called = 0;
  listener.hook = [&](const std::string&) {
    if (inside) return;
    inside = true;
    ++called;
    (void)world->try_acquire(100);
    (void)world->acquire(101);
    world->set_budget({.max_idle = 1});
    (void)world->stats();
    world->clear();
    inside = false;
  };
  for (int key = 0; key < 5; ++key) (void)world->acquire(key);
  EXPECT_GT(called, 10);
  listener.hook = nullptr;
}

TEST(HandleCacheTest, ASharedCreateThatAsksForItsOwnKeyIsToldSo) {
  SharedWorld world;
  std::string message;
  world.control->on(Call::create, [&](int key) {
    if (key != 1) return;
    try {
      (void)world->acquire(1);
    } catch (const Error& error) {
      message = error.what();
    }
  });
  const auto lease = world->acquire(1);
  EXPECT_THAT(message, HasSubstr("key 1"));
}

TEST(HandleCacheTest, AFactoryThatCanDoTheLeastIsEnough) {
  struct Plans {
    using Key = std::string;
    using Handle = std::unique_ptr<int>;
    Handle create(const Key& key) { return std::make_unique<int>(static_cast<int>(key.size())); }
    void destroy(const Key&, Handle handle) { handle.reset(); }
  };
  HandleCache<Plans> cache;
  {
    const auto lease = cache.acquire("four");
    EXPECT_EQ(**lease, 4);
  }
  EXPECT_EQ(cache.stats().idle, 1U);
}

TEST(HandleCacheTest, CachesOfOneFactoryTypeDoNotMixTheirHandles) {
  ExclusiveWorld first;
  ExclusiveWorld second;
  (void)first->acquire(1);
  EXPECT_FALSE(second->try_acquire(1));
  (void)second->acquire(1);
  (void)first->acquire(1);
  (void)second->acquire(1);
  EXPECT_EQ(first.control->created(), 1U);
  EXPECT_EQ(second.control->created(), 1U);
}

TEST(HandleCacheTest, MaxLiveOfZeroIsRefused) {
  EXPECT_THROW(
      HandleCache<ExclusiveFactory>({}, {.max_live = 0}, ExclusiveFactory(std::make_shared<doubles::RemoteControl>())),
      InvalidArgument);
}

}  // namespace
}  // namespace larder::core_tests
