// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reclaim: one call reaches the idle handles of every cache of the process.
#include <larder/reclaim.hpp>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

TEST(ReclaimTest, EmptiesEveryCache) {
  ExclusiveWorld first;
  SharedWorld second;
  first.control->set_bytes_of_all(10);
  second.control->set_bytes_of_all(100);
  for (int key = 0; key < 3; ++key) {
    (void)first->acquire(key);
    (void)second->acquire(key);
  }
  EXPECT_EQ(reclaim(), 330U);
  EXPECT_EQ(first->stats().idle, 0U);
  EXPECT_EQ(second->stats().idle, 0U);
  EXPECT_EQ(first->stats().evicted(EvictionCause::pressure), 3U);
}

TEST(ReclaimTest, StopsWhenEnoughIsFreed) {
  ExclusiveWorld first;
  ExclusiveWorld second;
  for (ExclusiveWorld* world : {&first, &second}) {
    world->control->set_bytes_of_all(10);
    for (int key = 0; key < 5; ++key) (void)(*world)->acquire(key);
  }
  EXPECT_EQ(reclaim(70), 70U);
  EXPECT_EQ(first->stats().idle + second->stats().idle, 3U);
  EXPECT_EQ(reclaim(0), 0U);
  EXPECT_EQ(first->stats().idle + second->stats().idle, 3U);
}

TEST(ReclaimTest, LeavesLeasedHandlesAlone) {
  ExclusiveWorld world;
  world.control->set_bytes_of_all(10);
  const auto lease = world->acquire(1);
  EXPECT_EQ(reclaim(), 0U);
  EXPECT_EQ((*lease)->destroys.load(), 0);
}

TEST(ReclaimTest, ForgetsCachesThatAreGone) {
  {
    ExclusiveWorld gone;
    gone.control->set_bytes_of_all(10);
    (void)gone->acquire(1);
  }
  EXPECT_EQ(reclaim(), 0U);
}

TEST(ReclaimTest, MayBeCalledFromACreate) {
  ExclusiveWorld world;
  world.control->set_bytes_of_all(10);
  (void)world->acquire(1);
  std::size_t freed = 0;
  world.control->on(Call::create, [&freed](int) { freed = reclaim(); });
  const auto lease = world->acquire(2);
  EXPECT_EQ(freed, 10U);
  world.control->on(Call::create, nullptr);
}

TEST(ReclaimTest, TakesInAHandleThatCameBackDeferredAfterItsCacheDied) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  world.destroy_cache();
  lease.release_deferred();
  (void)reclaim();
  world.expect_nothing_left();
}

}  // namespace
}  // namespace larder::core_tests
