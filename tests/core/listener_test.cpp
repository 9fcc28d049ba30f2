// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Listener: the events of each call, in order; a listener cannot fail the call it watches.
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/world.hpp"
#include "doubles/recording_listener.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;
using doubles::RecordingListener;
using testing::ElementsAre;

class ListenerTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> events() {
    std::vector<std::string> seen = listener.events();
    listener.clear();
    return seen;
  }

  RecordingListener listener;
  ExclusiveWorld world{{.max_idle = 1}, {.policy = Policy::lru, .listener = &listener}};
};

TEST_F(ListenerTest, HearsOfAMissAndItsBuild) {
  world.control->set_build_cost(1, 30ns);
  (void)world->acquire(1);
  EXPECT_THAT(events(), ElementsAre("miss key 1", "build key 1 in 30 ns"));
}

TEST_F(ListenerTest, HearsOfEveryHitOnce) {
  (void)world->acquire(1);
  (void)events();
  (void)world->acquire(1);
  (void)world->try_acquire(1);
  EXPECT_THAT(events(), ElementsAre("hit key 1", "hit key 1"));
}

TEST_F(ListenerTest, HearsOfAMissOfTryAcquire) {
  (void)world->try_acquire(1);
  EXPECT_THAT(events(), ElementsAre("miss key 1"));
}

TEST_F(ListenerTest, HearsWhatWasEvictedAndDestroyed) {
  (void)world->acquire(1);
  (void)world->acquire(2);
  const auto seen = events();
  EXPECT_THAT(seen, ElementsAre("miss key 1", "build key 1 in 0 ns", "miss key 2", "build key 2 in 0 ns",
                                "evict key 1 budget", "destroy key 1"));
}

TEST_F(ListenerTest, HearsWhyABuildFailed) {
  world.control->throw_at(Call::create, 1);
  EXPECT_ANY_THROW((void)world->acquire(1));
  EXPECT_THAT(events(), ElementsAre("miss key 1", "build failed key 1: scripted failure"));
}

TEST_F(ListenerTest, HearsWhyADestroyFailed) {
  (void)world->acquire(1);
  (void)events();
  world.control->throw_at(Call::destroy, 1);
  world->clear();
  EXPECT_THAT(events(), ElementsAre("evict key 1 cleared", "destroy failed key 1: scripted failure"));
}

TEST_F(ListenerTest, HearsOfAbandonedHandles) {
  (void)world->acquire(1);
  (void)events();
  world.control->set_alive(false);
  world->clear();
  EXPECT_THAT(events(), ElementsAre("evict key 1 cleared", "abandon key 1"));
  world.destroy_cache();
}

TEST_F(ListenerTest, HearsOfTheEndOfTheCache) {
  (void)world->acquire(1);
  (void)events();
  world.destroy_cache();
  EXPECT_THAT(events(), ElementsAre("evict key 1 cleared", "destroy key 1"));
}

TEST_F(ListenerTest, PrewarmIsABuildWithoutAMiss) {
  world->prewarm(1);
  EXPECT_THAT(events(), ElementsAre("build key 1 in 0 ns"));
}

TEST_F(ListenerTest, WhatAListenerThrowsIsSwallowed) {
  listener.hook = [](const std::string&) { throw std::runtime_error("a listener's own trouble"); };
  world.control->throw_at(Call::create, 3);
  for (int key = 0; key < 2; ++key) (void)world->acquire(key);
  EXPECT_THROW((void)world->acquire(2), doubles::RemoteFailure);
  (void)world->acquire(1);
  world.control->throw_at(Call::destroy, 1);
  world->clear();
  EXPECT_EQ(world->stats().builds, 2U);
  EXPECT_EQ(world->stats().destroys, 2U);
  listener.hook = nullptr;
}

TEST_F(ListenerTest, HearsTheHashOfTheKey) {
  struct Watch final : Listener {
    void on_build(const KeyRef& key, std::chrono::nanoseconds) override { hashes.push_back(key.hash()); }
    std::vector<std::uint64_t> hashes;
  } watch;
  ExclusiveWorld watched({}, {.listener = &watch});
  (void)watched->acquire(1);
  (void)watched->acquire(2);
  EXPECT_THAT(watch.hashes, ElementsAre(std::hash<int>{}(1), std::hash<int>{}(2)));
}

TEST_F(ListenerTest, KeysAreDescribedByTheFactoryElseByTheirOutput) {
  struct Plain {
    using Key = int;
    using Handle = int;
    int create(int key) { return key; }
    void destroy(int, int) {}
  };
  RecordingListener plain_listener;
  HandleCache<Plain> plain({}, {.listener = &plain_listener});
  (void)plain.try_acquire(12);
  EXPECT_THAT(plain_listener.events(), ElementsAre("miss 12"));
  (void)world->try_acquire(12);
  EXPECT_THAT(events(), ElementsAre("miss key 12"));
}

}  // namespace
}  // namespace larder::core_tests
