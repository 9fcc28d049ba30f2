// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// release_deferred: returns that call nothing, taken in by the next call on the cache.
#include <thread>
#include <utility>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;

TEST(DeferredReleaseTest, CallsNothingOfTheFactory) {
  ExclusiveWorld world({.max_idle = 0});
  auto lease = world->acquire(1);
  const auto prepares = world.control->calls(Call::prepare);
  const auto measures = world.control->calls(Call::bytes);
  lease.release_deferred();
  EXPECT_FALSE(lease);
  EXPECT_EQ(world.control->calls(Call::reset), 0U);
  EXPECT_EQ(world.control->calls(Call::bytes), measures);
  EXPECT_EQ(world.control->calls(Call::prepare), prepares);
  EXPECT_EQ(world.control->destroyed(), 0U) << "it counts as leased until a call takes it in";
  world->drain();
  EXPECT_EQ(world.control->calls(Call::reset), 1U);
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(DeferredReleaseTest, TheNextRequestTakesItInAndMayGetIt) {
  ExclusiveWorld world;
  world->acquire(1).release_deferred();
  (void)world->acquire(1);
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(DeferredReleaseTest, EveryCallTakesItIn) {
  const std::vector<std::pair<const char*, void (*)(ExclusiveWorld&)>> calls{
      {"acquire", [](ExclusiveWorld& world) { (void)world->acquire(2); }},
      {"try_acquire", [](ExclusiveWorld& world) { (void)world->try_acquire(2); }},
      {"prewarm", [](ExclusiveWorld& world) { world->prewarm(2); }},
      {"set_budget", [](ExclusiveWorld& world) { world->set_budget({.max_idle = 5}); }},
      {"clear", [](ExclusiveWorld& world) { world->clear(); }},
      {"trim", [](ExclusiveWorld& world) { (void)world->trim(0); }},
      {"stats", [](ExclusiveWorld& world) { (void)world->stats(); }},
      {"drain", [](ExclusiveWorld& world) { world->drain(); }},
      {"checkout", [](ExclusiveWorld& world) { world->checkin(world->checkout(2)); }},
  };
  for (const auto& [name, call] : calls) {
    ExclusiveWorld world;
    bool taken_in = false;
    world.control->on(Call::reset, [&taken_in](int key) { taken_in = taken_in || key == 1; });
    world->acquire(1).release_deferred();
    call(world);
    EXPECT_TRUE(taken_in) << name;
    world.control->on(Call::reset, nullptr);
  }
}

TEST(DeferredReleaseTest, ManyComeBackFromManyThreads) {
  ExclusiveWorld world;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&world, t] {
      for (int i = 0; i < 200; ++i) world->acquire(t).release_deferred();
    });
  }
  for (std::thread& thread : threads) thread.join();
  world->drain();
  EXPECT_EQ(world->stats().leased, 0U);
}

TEST(DeferredReleaseTest, LeasesOfOneSharedHandleComeBackEachOnce) {
  SharedWorld world({.max_idle = 0});
  auto a = world->acquire(1);
  auto b = world->acquire(1);
  auto c = world->acquire(1);
  a.release_deferred();
  b.release_deferred();
  world->drain();
  EXPECT_EQ(world.control->destroyed(), 0U);
  c.release_deferred();
  world->drain();
  EXPECT_EQ(world.control->destroyed(), 1U);
}

TEST(DeferredReleaseTest, SharedLeasesComeBackFromManyThreads) {
  SharedWorld world;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&world] {
      for (int i = 0; i < 200; ++i) world->acquire(1).release_deferred();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world->stats().leased, 0U);
  EXPECT_EQ(world.control->created(), 1U);
}

TEST(DeferredReleaseTest, TheEndOfTheCacheTakesThemIn) {
  ExclusiveWorld world;
  world->acquire(1).release_deferred();
  world.destroy_cache();
  world.expect_nothing_left();
}

TEST(DeferredReleaseTest, ObeysTheBudgetWhenTakenIn) {
  ExclusiveWorld world({.max_idle = 2});
  std::vector<Lease<ExclusiveFactory>> leases;
  for (int key = 0; key < 6; ++key) leases.push_back(world->acquire(key));
  for (auto& lease : leases) lease.release_deferred();
  EXPECT_EQ(world->stats().idle, 2U);
  EXPECT_EQ(world.control->destroyed(), 4U);
}

}  // namespace
}  // namespace larder::core_tests
