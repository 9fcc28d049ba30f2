// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads at random operations on few keys. Meant for the thread sanitizer too: the factories here have few callbacks, so
// that no lock of a double orders what the cache itself must order. LARDER_STRESS_OPERATIONS sets the operations of each
// thread.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>
#include <larder/reclaim.hpp>

namespace larder::core_tests {
namespace {

constexpr unsigned threads_used = 6;

[[nodiscard]] std::size_t operations_per_thread() {
  const char* const text = std::getenv("LARDER_STRESS_OPERATIONS");
  if (text == nullptr) return 4000;
  const std::optional<std::size_t> count = parse_count(text);
  if (!count) throw std::invalid_argument("LARDER_STRESS_OPERATIONS is not a count: " + std::string(text));
  return *count;
}

/// Counts of what a library made and destroyed.
struct Counts {
  std::atomic<std::uint64_t> attempts{0};
  std::atomic<std::uint64_t> created{0};
  std::atomic<std::uint64_t> destroyed{0};
  std::atomic<std::uint64_t> faults{0};  // uses by two at once, or after destroy
};

struct Object {
  explicit Object(int made_for) : key(made_for) {}
  const int key;
  long scratch = 0;  // plain: written by users, so a handle in two hands is a data race
  std::atomic<int> users{0};
  std::atomic<bool> dead{false};
};

template <Sharing mode>
struct Bare {
  using Key = int;
  using Handle = Object*;
  static constexpr Sharing sharing = mode;

  Object* create(int key) {
    if (counts->attempts.fetch_add(1, std::memory_order_relaxed) % 61 == 60)
      throw std::runtime_error("now and then a create fails");
    counts->created.fetch_add(1, std::memory_order_relaxed);
    return new Object(key);
  }
  void destroy(int key, Object* object) {
    if (object->dead.exchange(true) || object->key != key || object->users.load() > 0) counts->faults.fetch_add(1);
    object->scratch += 1;
    counts->destroyed.fetch_add(1, std::memory_order_relaxed);
    delete object;
  }

  Counts* counts;
};

/// As Bare, with bytes that are asked for at each return.
template <Sharing mode>
struct Measured : Bare<mode> {
  [[nodiscard]] std::size_t bytes(int key, Object* const&) const { return static_cast<std::size_t>(key) * 10 + 1; }
};

class CountingListener final : public Listener {
 public:
  void on_hit(const KeyRef& key) override { note(key); }
  void on_miss(const KeyRef& key) override { note(key); }
  void on_build(const KeyRef& key, std::chrono::nanoseconds) override { note(key); }
  void on_evict(const KeyRef& key, EvictionCause) override { note(key); }
  [[nodiscard]] std::uint64_t count() const { return count_.load(); }
  [[nodiscard]] std::uint64_t wrong() const { return wrong_.load(); }

 private:
  void note(const KeyRef& key) {
    if (key.describe() != std::to_string(key.hash())) wrong_.fetch_add(1);
    count_.fetch_add(1);
  }
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> wrong_{0};
};

template <class Factory>
void use(const Lease<Factory>& lease, int key, Counts& counts) {
  Object& object = **lease;
  if (object.dead.load() || object.key != key) counts.faults.fetch_add(1);
  if constexpr (Factory::sharing == Sharing::exclusive) {
    if (object.users.fetch_add(1) > 0) counts.faults.fetch_add(1);
    ++object.scratch;
    object.users.fetch_sub(1);
  }
}

template <class Factory>
class StressTest : public testing::Test {
 protected:
  void one_thread(HandleCache<Factory>& cache, unsigned seed) {
    std::mt19937 random(seed);
    const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::vector<Lease<Factory>> held;
    for (std::size_t i = 0, n = operations_per_thread(); i < n; ++i) {
      const int key = static_cast<int>(pick(5));
      try {
        switch (pick(40)) {
          case 0: cache.clear(); break;
          case 1: cache.set_budget({.max_idle = pick(12)}); break;
          case 2: cache.set_budget({.max_idle_per_key = pick(3)}); break;
          case 3: cache.set_budget({.max_idle_bytes = pick(200)}); break;
          case 4: cache.set_budget({}); break;
          case 5: (void)cache.trim(pick(50)); break;
          case 6: (void)cache.stats(); break;
          case 7: cache.drain(); break;
          case 8: cache.prewarm(key, pick(3)); break;
          case 9:
            if (pick(8) == 0) (void)reclaim();
            break;
          case 10: cache.set_budget({.max_idle_age = std::chrono::microseconds(pick(100))}); break;
          case 11: {
            Object* const object = cache.checkout(key);
            cache.checkin(object);
            break;
          }
          case 12:
          case 13: {
            Lease<Factory> lease = cache.try_acquire(key);
            if (lease) use(lease, key, counts);
            break;
          }
          case 14:
          case 15:
            if (held.size() < 3) held.push_back(cache.acquire(key));
            break;
          case 18: held.clear(); break;
          case 19: {
            Lease<Factory> lease = cache.acquire(key);
            use(lease, key, counts);
            lease.discard();
            break;
          }
          case 20: {
            Lease<Factory> lease = cache.acquire(key);
            use(lease, key, counts);
            lease.release_deferred();
            break;
          }
          default: {
            const Lease<Factory> lease = cache.acquire(key);
            use(lease, key, counts);
            break;
          }
        }
      } catch (const std::runtime_error&) {
        // A create that failed.
      }
      for (const Lease<Factory>& lease : held) use(lease, lease.key(), counts);
    }
  }

  void run(const Options& options) {
    {
      HandleCache<Factory> cache({.max_idle = 6}, options, Factory{&counts});
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < threads_used; ++t) threads.emplace_back([this, &cache, t] { one_thread(cache, t + 1); });
      for (std::thread& thread : threads) thread.join();
      cache.set_budget({.max_idle = 4});
      const Stats stats = cache.stats();
      EXPECT_EQ(stats.leased, 0U);
      EXPECT_LE(stats.idle, 4U);
      EXPECT_EQ(stats.live, stats.idle);
      EXPECT_EQ(stats.builds, counts.created.load());
      EXPECT_EQ(stats.destroys, counts.destroyed.load());
      EXPECT_EQ(stats.builds, stats.destroys + stats.live);
    }
    EXPECT_EQ(counts.created.load(), counts.destroyed.load());
    EXPECT_EQ(counts.faults.load(), 0U);
  }

  Counts counts;
};

using Kinds = testing::Types<Bare<Sharing::exclusive>, Bare<Sharing::shared>, Measured<Sharing::exclusive>,
                             Measured<Sharing::shared>>;
TYPED_TEST_SUITE(StressTest, Kinds);

TYPED_TEST(StressTest, RandomOperationsKeepThePromises) { this->run({}); }

TYPED_TEST(StressTest, RandomOperationsKeepThePromisesWithAListener) {
  CountingListener listener;
  this->run({.policy = Policy::lru, .listener = &listener});
  EXPECT_GT(listener.count(), 0U);
  EXPECT_EQ(listener.wrong(), 0U) << "events whose key was described as another";
}

TYPED_TEST(StressTest, RandomOperationsKeepThePromisesUnderALimitOfLiveHandles) {
  // Each thread may hold three leases and ask for a fourth; 24 for 6 threads can never block for good.
  this->run({.max_live = 24});
}

TYPED_TEST(StressTest, OneKeyInManyThreadsIsNeverInTwoHands) {
  HandleCache<TypeParam> cache({.max_idle = 8}, {}, TypeParam{&this->counts});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; ++t) {
    threads.emplace_back([this, &cache] {
      for (std::size_t i = 0, n = operations_per_thread() / 4; i < n; ++i) {
        try {
          use(cache.acquire(1), 1, this->counts);
        } catch (const std::runtime_error&) {
          // A create that failed.
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(this->counts.faults.load(), 0U);
  EXPECT_LE(cache.stats().idle, 8U);
}

TYPED_TEST(StressTest, LeasesComeBackWhileTheirCacheDies) {
  for (std::size_t round = 0, n = operations_per_thread() / 20; round < n; ++round) {
    std::optional<HandleCache<TypeParam>> cache;
    cache.emplace(Budget{}, Options{}, TypeParam{&this->counts});
    std::vector<std::thread> threads;
    std::atomic<bool> go{false};
    for (int t = 0; t < 3; ++t) {
      // Two leases of one thread: the first may be returned without the mutex, the second may be the last of all.
      std::array<Lease<TypeParam>, 2> leases;
      try {
        for (auto& lease : leases) lease = cache->acquire(t);
      } catch (const std::runtime_error&) {
        // A create that failed.
      }
      threads.emplace_back([&go, held = std::move(leases)]() mutable {
        while (!go.load()) std::this_thread::yield();
        for (auto& lease : held) lease.release();
      });
    }
    go = true;
    cache.reset();
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(this->counts.created.load(), this->counts.destroyed.load()) << "round " << round;
  }
  EXPECT_EQ(this->counts.faults.load(), 0U);
}

}  // namespace
}  // namespace larder::core_tests
