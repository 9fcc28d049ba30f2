// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// checkout and checkin: leases for callers that cannot hold one.
#include <string>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using testing::HasSubstr;

TEST(CheckoutTest, AHandleGoesOutAndComesBack) {
  ExclusiveWorld world;
  doubles::RemoteHandle const handle = world->checkout(1);
  EXPECT_EQ(handle->key, 1);
  EXPECT_EQ(world->stats().leased, 1U);
  EXPECT_FALSE(world->try_acquire(1));
  world->checkin(handle);
  EXPECT_EQ(world->stats().idle, 1U);
  EXPECT_EQ(world->checkout(1), handle);
  world->checkin(handle);
}

TEST(CheckoutTest, ASharedHandleNeedsOneCheckinPerCheckout) {
  SharedWorld world({.max_idle = 0});
  doubles::RemoteHandle const handle = world->checkout(1);
  EXPECT_EQ(world->checkout(1), handle);
  world->checkin(handle);
  EXPECT_EQ(world.control->destroyed(), 0U);
  world->checkin(handle);
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(CheckoutTest, AHandleCheckedInTwiceIsNamedAndChangesNothing) {
  struct Numbers {
    using Key = int;
    using Handle = int;
    int create(int key) { return 1000 + key; }
    void destroy(int, int) {}
  };
  HandleCache<Numbers> cache;
  const int handle = cache.checkout(7);
  cache.checkin(handle);
  const Stats before = cache.stats();
  try {
    cache.checkin(handle);
    FAIL() << "no error";
  } catch (const UnknownHandle& error) {
    EXPECT_THAT(error.what(), HasSubstr("1007"));
  }
  EXPECT_EQ(cache.stats().idle, before.idle);
  EXPECT_EQ(cache.stats().leased, before.leased);
}

TEST(CheckoutTest, AHandleOfElsewhereIsRefused) {
  ExclusiveWorld world;
  doubles::RemoteObject stranger(1, 99);
  EXPECT_THROW(world->checkin(&stranger), UnknownHandle);
  const auto lease = world->acquire(1);
  EXPECT_THROW(world->checkin(*lease), UnknownHandle) << "leased, but not through checkout";
}

TEST(CheckoutTest, AHandleIsUnknownToAnotherCache) {
  ExclusiveWorld first;
  ExclusiveWorld second;
  doubles::RemoteHandle const handle = first->checkout(1);
  EXPECT_THROW(second->checkin(handle), UnknownHandle);
  first->checkin(handle);
}

TEST(CheckoutTest, AClearedHandleIsDestroyedAtItsCheckin) {
  ExclusiveWorld world;
  doubles::RemoteHandle const handle = world->checkout(1);
  world->clear();
  EXPECT_EQ(world.control->destroyed(), 0U);
  world->checkin(handle);
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_THROW(world->checkin(handle), UnknownHandle);
}

TEST(CheckoutTest, AFailedCheckoutLeavesNothing) {
  ExclusiveWorld world;
  world.control->throw_at(Call::create, 1);
  EXPECT_THROW((void)world->checkout(1), doubles::RemoteFailure);
  EXPECT_EQ(world->stats().live, 0U);
}

}  // namespace
}  // namespace larder::core_tests
