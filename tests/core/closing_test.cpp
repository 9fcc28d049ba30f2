// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache destroyed while calls on it are under way in other threads: each ends, and the last one out takes the cache's
// insides with it.
#include <memory>
#include <thread>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;
using doubles::RemoteFailure;
using doubles::SharedFactory;

// The HandleCache is destroyed in place, so that a call under way keeps a reference that is as good as a user's.
template <class Factory>
class Closing {
 public:
  explicit Closing(Options options = {})
      : cache_(std::make_unique<HandleCache<Factory>>(Budget{}, options, Factory(control))) {}
  ~Closing() {
    EXPECT_EQ(control->live(), 0U);
    EXPECT_EQ(control.use_count(), 1) << "the cache's insides are gone";
  }
  HandleCache<Factory>* operator->() { return cache_.get(); }
  void destroy_cache() { delete cache_.release(); }

  std::shared_ptr<doubles::RemoteControl> control = std::make_shared<doubles::RemoteControl>();

 private:
  std::unique_ptr<HandleCache<Factory>> cache_;
};

template <class Factory, class Ask>
void destroy_during_create(Closing<Factory>& test, Ask&& ask) {
  test.control->gate(doubles::Call::create).close();
  HandleCache<Factory>& cache = *test.operator->();
  std::thread caller([&] { ask(cache); });
  test.control->gate(doubles::Call::create).wait_until_held();
  test.destroy_cache();
  test.control->gate(doubles::Call::create).open();
  caller.join();
}

TEST(ClosingTest, ABuildUnderWayIsGoodForItsLease) {
  Closing<ExclusiveFactory> test;
  destroy_during_create(test, [](auto& cache) { EXPECT_TRUE(cache.acquire(1)); });
}

TEST(ClosingTest, ABuildUnderWayMayFail) {
  Closing<ExclusiveFactory> test;
  test.control->throw_at(doubles::Call::create, 1);
  destroy_during_create(test, [](auto& cache) { EXPECT_THROW((void)cache.acquire(1), RemoteFailure); });
}

TEST(ClosingTest, APrewarmUnderWayEnds) {
  Closing<ExclusiveFactory> test;
  destroy_during_create(test, [](auto& cache) { EXPECT_THROW(cache.prewarm(1, 3), Closed); });
  EXPECT_EQ(test.control->created(), 1U);
}

TEST(ClosingTest, APrewarmUnderWayMayFail) {
  Closing<ExclusiveFactory> test;
  test.control->throw_at(doubles::Call::create, 1);
  destroy_during_create(test, [](auto& cache) { EXPECT_THROW(cache.prewarm(1, 3), RemoteFailure); });
}

TEST(ClosingTest, WhoWaitsForASharedBuildGetsItsHandleOrItsError) {
  for (const bool fails : {false, true}) {
    Closing<SharedFactory> test;
    if (fails) test.control->throw_at(doubles::Call::create, 1);
    const auto ask = [fails](auto& cache) {
      if (fails) {
        EXPECT_THROW((void)cache.acquire(1), RemoteFailure);
      } else {
        EXPECT_TRUE(cache.acquire(1));
      }
    };
    test.control->gate(doubles::Call::create).close();
    HandleCache<SharedFactory>& cache = *test.operator->();
    std::thread builder([&] { ask(cache); });
    test.control->gate(doubles::Call::create).wait_until_held();
    std::thread waiter([&] { ask(cache); });
    while (test->stats().misses < 2) std::this_thread::yield();
    test.destroy_cache();
    test.control->gate(doubles::Call::create).open();
    builder.join();
    waiter.join();
  }
}

TEST(ClosingTest, WhoWaitsForAReturnIsToldThatTheCacheIsClosed) {
  Closing<ExclusiveFactory> test({.max_live = 1});
  auto lease = test->acquire(1);
  HandleCache<ExclusiveFactory>& cache = *test.operator->();
  std::thread waiter([&cache] { EXPECT_THROW((void)cache.acquire(2), Closed); });
  while (test->stats().misses < 2) std::this_thread::yield();
  test.destroy_cache();
  waiter.join();
  lease.release();
}

}  // namespace
}  // namespace larder::core_tests
