// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lease: ownership, early return, and life beyond the cache.
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;
using doubles::SharedFactory;
using ExclusiveLease = Lease<ExclusiveFactory>;

static_assert(!std::is_copy_constructible_v<ExclusiveLease>);
static_assert(std::is_nothrow_move_constructible_v<ExclusiveLease>);
static_assert(std::is_nothrow_move_assignable_v<ExclusiveLease>);
static_assert(std::is_nothrow_destructible_v<ExclusiveLease>);

TEST(LeaseTest, ADefaultLeaseIsEmptyAndDoesNothing) {
  ExclusiveLease lease;
  EXPECT_FALSE(lease);
  lease.release();
  lease.discard();
  lease.release_deferred();
  EXPECT_FALSE(lease);
}

TEST(LeaseTest, TellsItsHandleAndKey) {
  ExclusiveWorld world;
  const auto lease = world->acquire(5);
  EXPECT_EQ(lease.key(), 5);
  EXPECT_EQ((*lease)->key, 5);
  EXPECT_EQ(lease.get(), *lease);
  EXPECT_EQ(*lease.operator->(), *lease);
}

TEST(LeaseTest, ReturnsItsHandleOnce) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  lease.release();
  EXPECT_FALSE(lease);
  EXPECT_EQ(world->stats().idle, 1U);
  lease.release();
  EXPECT_EQ(world.control->calls(Call::reset), 1U);
}

TEST(LeaseTest, AMoveEmptiesTheSource) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  auto target = std::move(lease);
  EXPECT_FALSE(lease);  // NOLINT(bugprone-use-after-move): the emptied source is what is tested
  EXPECT_TRUE(target);
  EXPECT_EQ(world->stats().leased, 1U);
}

TEST(LeaseTest, AssignmentReturnsTheOldHandle) {
  ExclusiveWorld world;
  auto a = world->acquire(1);
  auto b = world->acquire(2);
  a = std::move(b);
  EXPECT_EQ(a.key(), 2);
  EXPECT_EQ(world->stats().idle, 1U);
  EXPECT_EQ(world->stats().leased, 1U);
}

TEST(LeaseTest, SelfAssignmentKeepsTheHandle) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  auto& same = lease;
  lease = std::move(same);
  EXPECT_TRUE(lease);
  EXPECT_EQ(world->stats().leased, 1U);
}

TEST(LeaseTest, DiscardDestroysInsteadOfReturning) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  lease.discard();
  EXPECT_FALSE(lease);
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ(world.control->calls(Call::reset), 0U) << "a broken handle is not touched but to destroy it";
  EXPECT_EQ(world->stats().evicted(EvictionCause::discarded), 1U);
}

TEST(LeaseTest, ADiscardedSharedHandleServesItsOtherLeasesAndNobodyElse) {
  SharedWorld world;
  auto a = world->acquire(1);
  auto b = world->acquire(1);
  a.discard();
  EXPECT_EQ(world.control->destroyed(), 0U);
  const auto c = world->acquire(1);
  EXPECT_NE(*b, *c);
  b.release();
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(LeaseTest, IsReturnedDuringUnwinding) {
  ExclusiveWorld world;
  try {
    const auto lease = world->acquire(1);
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(world->stats().idle, 1U);
}

TEST(LeaseTest, MayBeReturnedOnAnotherThread) {
  ExclusiveWorld world;
  std::thread([lease = world->acquire(1)]() mutable { lease.release(); }).join();
  EXPECT_EQ(world->stats().idle, 1U);
  (void)world->acquire(1);
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(LeaseTest, StaysGoodAfterTheCacheDiedAndIsThenDestroyed) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  (void)world->acquire(2);
  world.destroy_cache();
  EXPECT_EQ(world.control->destroyed(), 1U);
  EXPECT_EQ(lease.key(), 1);
  EXPECT_EQ((*lease)->destroys.load(), 0);
  lease.release();
  EXPECT_EQ(world.control->destroyed(), 2U);
  world.expect_nothing_left();
}

/// Whether the insides of every cache over this control are gone, and with them the factories.

bool factory_is_gone(const std::shared_ptr<doubles::RemoteControl>& control) { return control.use_count() == 1; }

TEST(LeaseTest, TheFactoryLivesAsLongAsTheLastLease) {
  const auto control = std::make_shared<doubles::RemoteControl>();
  std::optional<HandleCache<SharedFactory>> cache(std::in_place, Budget{}, Options{}, SharedFactory(control));
  auto a = cache->acquire(1);
  auto b = cache->acquire(1);
  cache.reset();
  a.release();
  EXPECT_FALSE(factory_is_gone(control));
  b.release();
  EXPECT_TRUE(factory_is_gone(control));
}

TEST(LeaseTest, ALateDiscardDestroysToo) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  world.destroy_cache();
  lease.discard();
  world.expect_nothing_left();
}

}  // namespace
}  // namespace larder::core_tests
