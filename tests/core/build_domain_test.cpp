// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BuildDomain: creates and destroys of one domain exclude each other, across caches, and may nest on one thread.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using doubles::InDomain;
using doubles::RemoteControl;
using Factory = InDomain<doubles::ExclusiveFactory>;

BuildDomain& domain() {
  static BuildDomain& only = *new BuildDomain;
  return only;
}

/// Notices two threads inside at once.
class Inside {
 public:
  void enter() {
    if (threads_.fetch_add(1) > 0) overlaps_.fetch_add(1);
    std::this_thread::yield();
    threads_.fetch_sub(1);
  }
  [[nodiscard]] int overlaps() const { return overlaps_.load(); }

 private:
  std::atomic<int> threads_{0};
  std::atomic<int> overlaps_{0};
};

TEST(BuildDomainTest, CreatesAndDestroysOfTwoCachesNeverOverlap) {
  Inside inside;
  std::vector<std::shared_ptr<RemoteControl>> controls;
  {
    std::vector<std::unique_ptr<HandleCache<Factory>>> caches;
    for (int i = 0; i < 2; ++i) {
      controls.push_back(std::make_shared<RemoteControl>());
      for (const Call call : {Call::create, Call::destroy})
        controls.back()->on(call, [&inside](int) { inside.enter(); });
      caches.push_back(
          std::make_unique<HandleCache<Factory>>(Budget{.max_idle = 1}, Options{}, Factory(controls.back(), domain())));
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&caches, t] {
        for (int i = 0; i < 100; ++i) (void)caches[static_cast<std::size_t>(t % 2)]->acquire(t * 1000 + i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(inside.overlaps(), 0);
  for (const auto& control : controls) {
    EXPECT_EQ(control->created(), 200U);
    EXPECT_EQ(control->live(), 0U);
  }
}

TEST(BuildDomainTest, ACreateMayAcquireFromACacheOfTheSameDomain) {
  const auto outer_control = std::make_shared<RemoteControl>();
  const auto inner_control = std::make_shared<RemoteControl>();
  HandleCache<Factory> outer({}, {}, Factory(outer_control, domain()));
  HandleCache<Factory> inner({.max_idle = 0}, {}, Factory(inner_control, domain()));
  outer_control->on(Call::create, [&inner](int key) { (void)inner.acquire(key); });
  (void)outer.acquire(1);
  EXPECT_EQ(inner_control->created(), 1U);
  EXPECT_EQ(inner_control->destroyed(), 1U);
}

TEST(BuildDomainTest, IsFreeAgainAfterACreateThrew) {
  const auto control = std::make_shared<RemoteControl>();
  HandleCache<Factory> cache({}, {}, Factory(control, domain()));
  control->throw_at(Call::create, 1);
  EXPECT_ANY_THROW((void)cache.acquire(1));
  bool built = false;
  std::thread([&] { built = static_cast<bool>(cache.acquire(1)); }).join();
  EXPECT_TRUE(built);
}

TEST(BuildDomainTest, HitsDoNotWaitForADomainThatIsBusy) {
  const auto control = std::make_shared<RemoteControl>();
  HandleCache<Factory> cache({}, {}, Factory(control, domain()));
  (void)cache.acquire(1);
  control->gate(Call::create).close();
  std::thread builder([&cache] { (void)cache.acquire(2); });
  control->gate(Call::create).wait_until_held();
  const auto lease = cache.acquire(1);
  EXPECT_TRUE(lease);
  EXPECT_EQ(cache.stats().hits, 1U);
  control->gate(Call::create).open();
  builder.join();
}

TEST(BuildDomainTest, OthersMayTakeTheDomainThemselves) {
  const auto control = std::make_shared<RemoteControl>();
  HandleCache<Factory> cache({}, {}, Factory(control, domain()));
  domain().lock();
  std::atomic<bool> built{false};
  std::thread builder([&] {
    (void)cache.acquire(1);
    built = true;
  });
  (void)cache.try_acquire(2);
  EXPECT_FALSE(built.load());
  EXPECT_EQ(control->calls(Call::create), 0U);
  domain().unlock();
  builder.join();
  EXPECT_TRUE(built.load());
}

}  // namespace
}  // namespace larder::core_tests
