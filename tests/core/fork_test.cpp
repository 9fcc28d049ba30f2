// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork: the child never reuses or destroys a handle of the parent, never hangs, and its books balance.
//
// A child reports by its exit code: 0, or the line of the check that failed. An alarm ends one that hangs.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;
using doubles::RemoteControl;
using doubles::SharedFactory;

// An exit code has eight bits: the checks of one test lie within 250 lines of each other.
#define REQUIRE_IN_CHILD(condition)              \
  do {                                           \
    if (!(condition)) return 1 + __LINE__ % 250; \
  } while (false)

// The parent's threads are not in the child, where ThreadSanitizer would call them leaked.
extern "C" const char* __tsan_default_options() { return "report_thread_leaks=0"; }

/// Runs a function in a forked child and tells its result; -1 when the child hung or crashed.
template <class Function>
int in_child(Function&& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(function());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, TheChildForgetsTheParentsIdleHandles) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  EXPECT_EQ(in_child([&world]() -> int {
              REQUIRE_IN_CHILD(world->stats().idle == 0);
              REQUIRE_IN_CHILD(world->stats().abandoned == 1);
              const auto lease = world->acquire(1);
              REQUIRE_IN_CHILD((*lease)->number == 1);
              REQUIRE_IN_CHILD(world.control->calls(Call::destroy) == 0);
              return 0;
            }),
            0);
  EXPECT_EQ((*world->acquire(1))->number, 0U) << "the parent keeps its own";
}

TEST(ForkTest, ALeaseOfTheParentComesToNothingInTheChild) {
  ExclusiveWorld world;
  auto lease = world->acquire(1);
  auto discarded = world->acquire(1);
  auto deferred = world->acquire(1);
  EXPECT_EQ(in_child([&]() -> int {
              const auto measures = world.control->calls(Call::bytes);
              lease.release();
              discarded.discard();
              deferred.release_deferred();
              const Stats stats = world->stats();
              REQUIRE_IN_CHILD(stats.abandoned == 3);
              REQUIRE_IN_CHILD(stats.live == 0);
              REQUIRE_IN_CHILD(world.control->calls(Call::destroy) == 0);
              REQUIRE_IN_CHILD(world.control->calls(Call::reset) == 0);
              REQUIRE_IN_CHILD(world.control->calls(Call::bytes) == measures);
              return 0;
            }),
            0);
}

TEST(ForkTest, TheEndOfTheCacheInTheChildDestroysOnlyTheChildsHandles) {
  ExclusiveWorld world;
  for (int key = 0; key < 3; ++key) (void)world->acquire(key);
  EXPECT_EQ(in_child([&world]() -> int {
              for (int key = 0; key < 2; ++key) (void)world->acquire(key);
              world.destroy_cache();
              REQUIRE_IN_CHILD(world.control->calls(Call::destroy) == 2);
              return 0;
            }),
            0);
  EXPECT_EQ(world->stats().idle, 3U);
}

TEST(ForkTest, TheChildsBooksBalance) {
  ExclusiveWorld world({.max_idle = 2});
  (void)world->acquire(1);
  const auto held = world->acquire(2);
  EXPECT_EQ(in_child([&world]() -> int {
              for (int key = 0; key < 10; ++key) (void)world->acquire(key);
              const Stats stats = world->stats();
              REQUIRE_IN_CHILD(stats.builds == stats.destroys + stats.abandoned + stats.live);
              REQUIRE_IN_CHILD(stats.idle == 2);
              return 0;
            }),
            0);
}

/// Whose plain data a child may go on using, as with a library on the host alone.
class HostFactory : public ExclusiveFactory {
 public:
  using ExclusiveFactory::ExclusiveFactory;
  static constexpr bool survives_fork = true;
};

TEST(ForkTest, HandlesThatSurviveAForkAreUsedAndDestroyedByTheChild) {
  World<HostFactory> world;
  (void)world->acquire(1);
  auto lease = world->acquire(2);
  EXPECT_EQ(in_child([&]() -> int {
              REQUIRE_IN_CHILD((*world->acquire(1))->number == 0);
              lease.release();
              REQUIRE_IN_CHILD(world->stats().idle == 2);
              world->clear();
              REQUIRE_IN_CHILD(world.control->calls(Call::destroy) == 2);
              return 0;
            }),
            0);
}

template <class WorldType>
void fork_during_a_build(WorldType& world) {
  world.control->gate(Call::create).close();
  std::thread builder([&world] { (void)world->acquire(1); });
  world.control->gate(Call::create).wait_until_held();
  EXPECT_EQ(in_child([&world]() -> int {
              // The builder does not exist here. Its build must not be waited for.
              world.control->gate(Call::create).forget_held_and_open();
              const auto lease = world->acquire(1);
              REQUIRE_IN_CHILD(static_cast<bool>(lease));
              const Stats stats = world->stats();
              REQUIRE_IN_CHILD(stats.builds == 1);
              REQUIRE_IN_CHILD(stats.live == 1);
              return 0;
            }),
            0);
  world.control->gate(Call::create).open();
  builder.join();
}

TEST(ForkTest, ABuildUnderWayOnAnotherThreadIsNotWaitedForInTheChild) {
  ExclusiveWorld exclusive;
  fork_during_a_build(exclusive);
  SharedWorld shared;
  fork_during_a_build(shared);
}

TEST(ForkTest, ALimitOfLiveHandlesIsFreeAgainInTheChild) {
  ExclusiveWorld world({}, {.max_live = 1});
  (void)world->acquire(1);
  std::thread waiter;
  {
    const auto lease = world->acquire(1);
    waiter = std::thread([&world] { (void)world->acquire(2); });
    while (world->stats().misses < 2) std::this_thread::yield();
    EXPECT_EQ(in_child([&world]() -> int {
                // The leased handle is still leased here: its room is taken until the lease ends.
                try {
                  (void)world->acquire(3, std::chrono::steady_clock::now());
                } catch (const DeadlineExceeded&) {
                  return 0;
                }
                return 1;
              }),
              0);
  }
  waiter.join();
}

TEST(ForkTest, AHandleBeingDestroyedByAnotherThreadIsAbandonedInTheChild) {
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.control->gate(Call::destroy).close();
  std::thread destroyer([&world] { world->clear(); });
  world.control->gate(Call::destroy).wait_until_held();
  EXPECT_EQ(in_child([&world]() -> int {
              const Stats stats = world->stats();
              REQUIRE_IN_CHILD(stats.live == 0);
              REQUIRE_IN_CHILD(stats.abandoned == 1);
              return 0;
            }),
            0);
  world.control->gate(Call::destroy).open();
  destroyer.join();
}

BuildDomain& domain() {
  static BuildDomain& only = *new BuildDomain;
  return only;
}

TEST(ForkTest, ForkWaitsForABusyDomainAndTheChildFindsItFree) {
  using Factory = doubles::InDomain<ExclusiveFactory>;
  const auto control = std::make_shared<RemoteControl>();
  HandleCache<Factory> cache({}, {}, Factory(control, domain()));
  control->gate(Call::create).close();
  std::thread builder([&cache] { (void)cache.acquire(1); });
  control->gate(Call::create).wait_until_held();
  std::thread opener([&control] { control->gate(Call::create).open(); });
  EXPECT_EQ(in_child([&]() -> int {
              REQUIRE_IN_CHILD(control->calls(Call::create) == 1);
              const auto lease = cache.acquire(2);
              REQUIRE_IN_CHILD(static_cast<bool>(lease));
              return 0;
            }),
            0);
  opener.join();
  builder.join();
}

TEST(ForkTest, AForkFromInsideACreateFindsItsDomainAndItsBuild) {
  using Factory = doubles::InDomain<ExclusiveFactory>;
  const auto control = std::make_shared<RemoteControl>();
  HandleCache<Factory> cache({}, {}, Factory(control, domain()));
  int result = -1;
  bool is_child = false;
  control->on(Call::create, [&](int key) {
    if (key != 1) return;
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      is_child = true;
      return;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  });
  const auto lease = cache.acquire(1);
  if (is_child) {
    const bool good = cache.acquire(2) && cache.stats().live == 2 && (*lease)->key == 1;
    ::_exit(good ? 0 : 1);
  }
  EXPECT_EQ(result, 0);
  control->on(Call::create, nullptr);
}

TEST(ForkTest, ACheckedOutHandleMayBeCheckedInByTheChild) {
  ExclusiveWorld world;
  doubles::RemoteHandle const handle = world->checkout(1);
  EXPECT_EQ(in_child([&]() -> int {
              world->checkin(handle);
              REQUIRE_IN_CHILD(world->stats().abandoned == 1);
              REQUIRE_IN_CHILD(world.control->calls(Call::destroy) == 0);
              return 0;
            }),
            0);
  world->checkin(handle);
}

}  // namespace
}  // namespace larder::core_tests
