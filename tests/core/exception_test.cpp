// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exception safety: each operation is run again and again, failing at the first allocation, then at the second, until it
// passes untouched; and likewise at each call of the factory and each event of the listener. The promises hold after each.
//
// This executable replaces operator new. Only allocations of the thread that armed the countdown fail.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <larder/reclaim.hpp>

#include "core/world.hpp"
#include "doubles/recording_listener.hpp"

namespace {

constinit thread_local std::int64_t allocations_left = -1;  // until one fails; negative: none will
constinit thread_local bool allocation_failed = false;

void* allocate(std::size_t size, std::size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    allocation_failed = true;
    throw std::bad_alloc();
  }
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace larder::core_tests {
namespace {

using doubles::ExclusiveFactory;
using doubles::RemoteControl;
using doubles::SharedFactory;

/// Lets the n-th allocation from here on fail, until the end of the scope.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::int64_t nth) {
    allocation_failed = false;
    allocations_left = nth;
  }
  ~FailingAllocation() { allocations_left = -1; }
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  [[nodiscard]] static bool happened() noexcept { return allocation_failed; }
};

/// A cache with some history: idle handles of keys 0 to 4, a lease of key 5, and key 6 deferred.
template <class Factory>
struct Prepared {
  Prepared() {
    control->set_bytes_of_all(10);
    cache.emplace(Budget{.max_idle = 6, .max_idle_bytes = 1000}, Options{.policy = Policy::lru, .listener = &listener},
                  Factory(control));
    for (int key = 0; key < 5; ++key) (void)cache->acquire(key);
    lease = cache->acquire(5);
    cache->acquire(6).release_deferred();
  }

  /// The promises, whatever failed.
  void expect_promises(const std::string& when) {
    const Stats stats = cache->stats();
    EXPECT_EQ(stats.builds, stats.destroys + stats.abandoned + stats.live) << when;
    EXPECT_EQ(stats.live, stats.idle + stats.leased) << when;
    EXPECT_LE(stats.idle, 6U) << when;
    EXPECT_EQ(control->live(), stats.live + stats.abandoned) << when << ": handles in the library against those known";
    EXPECT_THAT(control->violations(), testing::IsEmpty()) << when;
  }
  void expect_nothing_left(const std::string& when) {
    lease.release();
    const std::uint64_t abandoned = cache->stats().abandoned;
    cache.reset();
    EXPECT_EQ(control->live(), abandoned) << when;
    EXPECT_EQ(control.use_count(), 1) << when << ": the insides of the cache are gone";
  }

  doubles::RecordingListener listener;
  std::shared_ptr<RemoteControl> control = std::make_shared<RemoteControl>();
  std::optional<HandleCache<Factory>> cache;
  Lease<Factory> lease;
};

template <class Factory>
struct Step {
  const char* name;
  std::function<void(Prepared<Factory>&)> run;
};

template <class Factory>
std::vector<Step<Factory>> steps() {
  using World = Prepared<Factory>;
  return {
      {"acquire, a hit", [](World& w) { (void)w.cache->acquire(1); }},
      {"acquire, a build", [](World& w) { (void)w.cache->acquire(50); }},
      {"acquire, a build and an eviction",
       [](World& w) {
         for (int key = 50; key < 53; ++key) (void)w.cache->acquire(key);
       }},
      {"acquire, many builds held",
       [](World& w) {
         std::vector<Lease<Factory>> leases;
         for (int key = 100; key < 140; ++key) leases.push_back(w.cache->acquire(key));
       }},
      {"try_acquire", [](World& w) { (void)w.cache->try_acquire(50); }},
      {"prewarm", [](World& w) { w.cache->prewarm(50, 3); }},
      {"checkout and checkin", [](World& w) { w.cache->checkin(w.cache->checkout(1)); }},
      {"release", [](World& w) { w.lease.release(); }},
      {"discard", [](World& w) { w.lease.discard(); }},
      {"release_deferred and drain",
       [](World& w) {
         w.lease.release_deferred();
         w.cache->drain();
       }},
      {"set_budget", [](World& w) { w.cache->set_budget({.max_idle = 2}); }},
      {"trim", [](World& w) { (void)w.cache->trim(25); }},
      {"clear", [](World& w) { w.cache->clear(); }},
      {"reclaim", [](World&) { (void)reclaim(); }},
      {"stats", [](World& w) { (void)w.cache->stats(); }},
      {"retry",
       [](World& w) {
         w.control->throw_at(Call::create, 1, doubles::out_of_memory());
         (void)w.cache->acquire(60);
       }},
  };
}

template <class Factory>
class ExceptionTest : public testing::Test {};
using Factories = testing::Types<ExclusiveFactory, SharedFactory>;
TYPED_TEST_SUITE(ExceptionTest, Factories);

TYPED_TEST(ExceptionTest, NoAllocationThatFailsBreaksAPromise) {
  int failures = 0;
  for (const Step<TypeParam>& step : steps<TypeParam>()) {
    for (std::int64_t nth = 0;; ++nth) {
      ASSERT_LT(nth, 5000) << step.name << " does not come to an end";
      const std::string when = std::string(step.name) + ", allocation " + std::to_string(nth);
      Prepared<TypeParam> world;
      bool happened = false;
      {
        const FailingAllocation failing(nth);
        try {
          step.run(world);
        } catch (const std::bad_alloc&) {
        } catch (const BuildFailed&) {
        }
        happened = FailingAllocation::happened();
      }
      world.control->forget_failures();
      world.expect_promises(when);
      // The cache still works.
      EXPECT_TRUE(world.cache->acquire(77)) << when;
      world.expect_nothing_left(when);
      failures += happened ? 1 : 0;
      if (!happened || this->HasFailure()) break;
    }
  }
  EXPECT_GT(failures, 50) << "the countdown reached few allocations: is operator new replaced?";
}

TYPED_TEST(ExceptionTest, NoAllocationThatFailsLeavesAHalfMadeCache) {
  for (std::int64_t nth = 0;; ++nth) {
    ASSERT_LT(nth, 1000);
    const auto control = std::make_shared<RemoteControl>();
    bool happened = false;
    {
      TypeParam factory(control);
      const FailingAllocation failing(nth);
      try {
        HandleCache<TypeParam> cache({}, {}, std::move(factory));
      } catch (const std::bad_alloc&) {
      }
      happened = FailingAllocation::happened();
    }
    EXPECT_EQ(control.use_count(), 1) << "allocation " << nth;
    if (!happened) break;
  }
  EXPECT_EQ(reclaim(), 0U) << "no half-made cache is known to the process";
}

TYPED_TEST(ExceptionTest, NoFactoryCallThatThrowsBreaksAPromise) {
  int failures = 0;
  for (const Step<TypeParam>& step : steps<TypeParam>()) {
    for (const Call call : {Call::create, Call::destroy, Call::prepare, Call::reset, Call::bytes}) {
      for (std::uint64_t nth = 1;; ++nth) {
        ASSERT_LT(nth, 1000U) << step.name << " does not come to an end";
        const std::string when = std::string(step.name) + ", call " + std::to_string(nth) + " of kind " +
                                 std::to_string(static_cast<int>(call));
        Prepared<TypeParam> world;
        const std::uint64_t before = world.control->calls(call);
        world.control->throw_at(call, nth);
        try {
          step.run(world);
        } catch (const doubles::RemoteFailure&) {
        } catch (const BuildFailed&) {
        }
        const bool happened = world.control->calls(call) >= before + nth;
        world.control->forget_failures();
        world.expect_promises(when);
        EXPECT_TRUE(world.cache->acquire(77)) << when;
        world.expect_nothing_left(when);
        failures += happened ? 1 : 0;
        if (!happened || this->HasFailure()) break;
      }
    }
  }
  EXPECT_GT(failures, 50);
}

TYPED_TEST(ExceptionTest, NoEventThatThrowsBreaksAPromiseOrReachesTheCaller) {
  int failures = 0;
  for (const Step<TypeParam>& step : steps<TypeParam>()) {
    for (std::uint64_t nth = 1;; ++nth) {
      ASSERT_LT(nth, 1000U) << step.name << " does not come to an end";
      const std::string when = std::string(step.name) + ", event " + std::to_string(nth);
      Prepared<TypeParam> world;
      std::uint64_t events = 0;
      world.listener.hook = [&events, nth](const std::string&) {
        if (++events == nth) throw std::runtime_error("a listener's own trouble");
      };
      EXPECT_NO_THROW(step.run(world)) << when;
      const bool happened = events >= nth;
      world.listener.hook = nullptr;
      world.expect_promises(when);
      world.expect_nothing_left(when);
      failures += happened ? 1 : 0;
      if (!happened || this->HasFailure()) break;
    }
  }
  EXPECT_GT(failures, 20);
}

}  // namespace
}  // namespace larder::core_tests
