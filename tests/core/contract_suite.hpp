// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every factory kind keeps under every policy: a typed GoogleTest suite, to be instantiated by each back end.
//
//   struct MyKind {                                  // one fresh world per test
//     using Factory = ...;
//     Factory factory();                             // all of them over one library, which the kind counts for
//     typename Factory::Key key(int number);         // distinct numbers give distinct keys; at least 0..99
//     std::uint64_t created() const, destroyed() const;
//     std::vector<std::string> violations() const;   // wrong use that was noticed
//     void use(const Lease<Factory>&);               // uses the handle as its leases may
//     Stream stream(int number);                     // of a stream factory: one for that key, best another each time
//     // Optional; the tests that need them are skipped without:
//     void fail_next_create(); void fail_next_destroy();
//     void lose_library();                           // from here on no call may reach the library
//   };
//   using Mine = testing::Types<larder::core_tests::Under<MyKind, &larder::Policy::value>, ...>;
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, ContractSuite, Mine);
//
// After each test it holds that: created == destroyed + abandoned + live, idle is within the budget, the end of the
// cache leaves nothing behind, and no wrong use was noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

namespace larder::core_tests {

/// A kind of factory under a policy.
template <class KindType, const Policy* policy_of_cache>
struct Under {
  using Kind = KindType;
  static constexpr const Policy* policy = policy_of_cache;
};

template <class Combination>
class ContractSuite : public testing::Test {
 protected:
  using Kind = typename Combination::Kind;
  using Factory = typename Kind::Factory;
  using Cache = HandleCache<Factory>;
  using TheLease = Lease<Factory>;
  static constexpr bool is_shared = detail::sharing_of<Factory>() == Sharing::shared;

  Cache& make(Budget budget = {.max_idle = Budget::unlimited}) {
    budget_ = budget;
    return cache_.emplace(budget, Options{.policy = *Combination::policy}, kind.factory());
  }
  [[nodiscard]] TheLease acquire(int number) {
    if constexpr (StreamFactory<Factory>) {
      return cache_->acquire(kind.key(number), kind.stream(number));
    } else {
      return cache_->acquire(kind.key(number));
    }
  }
  [[nodiscard]] TheLease try_acquire(int number) {
    if constexpr (StreamFactory<Factory>) {
      return cache_->try_acquire(kind.key(number), kind.stream(number));
    } else {
      return cache_->try_acquire(kind.key(number));
    }
  }
  void use_once(int number) {
    const TheLease lease = acquire(number);
    kind.use(lease);
  }
  void set_budget(Budget budget) {
    budget_ = budget;
    cache_->set_budget(budget);
  }
  void end_cache() { cache_.reset(); }

  void expect_promises() {
    const Stats stats = cache_->stats();
    EXPECT_EQ(stats.builds, stats.destroys + stats.abandoned + stats.live);
    EXPECT_EQ(stats.live, stats.idle + stats.leased);
    EXPECT_EQ(stats.builds, kind.created());
    EXPECT_EQ(stats.destroys, kind.destroyed());
    if (budget_.max_idle) {
      EXPECT_LE(stats.idle, *budget_.max_idle);
    }
    if (budget_.max_idle_per_key) {
      EXPECT_LE(stats.idle, *budget_.max_idle_per_key * stats.idle_keys);
    }
    if (budget_.max_idle_bytes) {
      EXPECT_LE(stats.idle_bytes, *budget_.max_idle_bytes);
    }
    EXPECT_THAT(kind.violations(), testing::IsEmpty());
  }
  void TearDown() override {
    if (cache_) {
      expect_promises();
      abandoned_ = cache_->stats().abandoned;
      cache_.reset();
    }
    if (!lost_) {
      EXPECT_EQ(kind.created(), kind.destroyed() + abandoned_);
    }
    EXPECT_THAT(kind.violations(), testing::IsEmpty());
  }

  Kind kind;
  std::optional<Cache> cache_;
  Budget budget_;
  std::uint64_t abandoned_ = 0;
  bool lost_ = false;
};

TYPED_TEST_SUITE_P(ContractSuite);

TYPED_TEST_P(ContractSuite, ASecondRequestIsAHit) {
  this->make();
  this->use_once(1);
  this->use_once(1);
  EXPECT_EQ(this->kind.created(), 1U);
  EXPECT_EQ(this->cache_->stats().hits, 1U);
}

TYPED_TEST_P(ContractSuite, LeasesOfOneKeyShareOnlyWhatMayBeShared) {
  this->make();
  const auto a = this->acquire(1);
  const auto b = this->acquire(1);
  EXPECT_EQ(*a == *b, TestFixture::is_shared);
  this->kind.use(a);
  this->kind.use(b);
}

TYPED_TEST_P(ContractSuite, KeysAreNeverCrossed) {
  this->make();
  for (int round = 0; round < 3; ++round) {
    for (int number = 0; number < 10; ++number) {
      const auto lease = this->acquire(number);
      EXPECT_TRUE(lease.key() == this->kind.key(number));
    }
  }
  EXPECT_EQ(this->kind.created(), 10U);
}

TYPED_TEST_P(ContractSuite, ACountOf32Keeps32) {
  this->make({.max_idle = 32});
  for (int number = 0; number < 100; ++number) {
    this->use_once(number);
    EXPECT_EQ(this->cache_->stats().idle, static_cast<std::size_t>(std::min(number + 1, 32)));
  }
}

TYPED_TEST_P(ContractSuite, ACountOfZeroKeepsNothing) {
  this->make({.max_idle = 0});
  for (int number = 0; number < 5; ++number) this->use_once(number);
  EXPECT_EQ(this->kind.destroyed(), 5U);
}

TYPED_TEST_P(ContractSuite, AByteBudgetIsNeverExceeded) {
  this->make({.max_idle = 10, .max_idle_bytes = 2000});
  for (int number = 0; number < 50; ++number) {
    this->use_once(number);
    EXPECT_LE(this->cache_->stats().idle_bytes, 2000U);
  }
}

TYPED_TEST_P(ContractSuite, ShrinkingTheBudgetEvictsAtOnce) {
  this->make({.max_idle = 20});
  for (int number = 0; number < 20; ++number) this->use_once(number);
  this->set_budget({.max_idle = 7});
  EXPECT_EQ(this->cache_->stats().idle, 7U);
  EXPECT_EQ(this->kind.destroyed(), 13U);
}

TYPED_TEST_P(ContractSuite, ALeaseStaysGoodAcrossClearAndAnEmptyBudget) {
  this->make({.max_idle = 10});
  auto lease = this->acquire(1);
  this->cache_->clear();
  this->set_budget({.max_idle = 0});
  this->kind.use(lease);
  EXPECT_EQ(this->kind.destroyed(), 0U);
  lease.release();
  EXPECT_EQ(this->kind.destroyed(), 1U);
}

TYPED_TEST_P(ContractSuite, DiscardDestroys) {
  this->make();
  this->acquire(1).discard();
  EXPECT_EQ(this->kind.destroyed(), 1U);
  EXPECT_FALSE(this->try_acquire(1));
}

TYPED_TEST_P(ContractSuite, TryAcquireNeverBuilds) {
  this->make();
  EXPECT_FALSE(this->try_acquire(1));
  EXPECT_EQ(this->kind.created(), 0U);
  this->cache_->prewarm(this->kind.key(1));
  EXPECT_TRUE(this->try_acquire(1));
}

TYPED_TEST_P(ContractSuite, PrewarmedHandlesAreHits) {
  this->make();
  this->cache_->prewarm(this->kind.key(1), 3);
  const std::uint64_t built = TestFixture::is_shared ? 1 : 3;
  EXPECT_EQ(this->kind.created(), built);
  {
    const auto a = this->acquire(1);
    const auto b = this->acquire(1);
    const auto c = this->acquire(1);
  }
  EXPECT_EQ(this->kind.created(), built);
  EXPECT_EQ(this->cache_->stats().misses, 0U);
}

TYPED_TEST_P(ContractSuite, TrimAndClearLeaveTheLeased) {
  this->make();
  for (int number = 0; number < 5; ++number) this->use_once(number);
  auto lease = this->acquire(0);
  (void)this->cache_->trim(Budget::unlimited);
  EXPECT_EQ(this->cache_->stats().idle, 0U);
  EXPECT_EQ(this->kind.destroyed(), 4U);
  this->kind.use(lease);
  lease.release();
  this->cache_->clear();
  EXPECT_EQ(this->cache_->stats().live, 0U);
}

TYPED_TEST_P(ContractSuite, DeferredReturnsAreTakenIn) {
  this->make({.max_idle = 2});
  for (int number = 0; number < 6; ++number) {
    auto lease = this->acquire(number);
    this->kind.use(lease);
    lease.release_deferred();
  }
  this->cache_->drain();
  EXPECT_EQ(this->cache_->stats().idle, 2U);
  EXPECT_EQ(this->cache_->stats().leased, 0U);
}

TYPED_TEST_P(ContractSuite, ALeaseReturnedAfterTheCacheDiedIsDestroyed) {
  this->make();
  auto lease = this->acquire(1);
  this->use_once(2);
  this->end_cache();
  EXPECT_EQ(this->kind.destroyed(), 1U);
  this->kind.use(lease);
  lease.release();
  EXPECT_EQ(this->kind.destroyed(), 2U);
}

TYPED_TEST_P(ContractSuite, AFailedCreateLeavesNothingAndPoisonsNothing) {
  if constexpr (requires { this->kind.fail_next_create(); }) {
    this->make();
    this->use_once(1);
    this->kind.fail_next_create();
    EXPECT_ANY_THROW((void)this->acquire(2));
    EXPECT_EQ(this->cache_->stats().live, 1U);
    this->use_once(2);
    EXPECT_EQ(this->cache_->stats().live, 2U);
  } else {
    GTEST_SKIP() << "this kind cannot make a create fail";
  }
}

TYPED_TEST_P(ContractSuite, AFailedDestroyStopsNoOther) {
  if constexpr (requires { this->kind.fail_next_destroy(); }) {
    this->make();
    for (int number = 0; number < 4; ++number) this->use_once(number);
    this->kind.fail_next_destroy();
    this->cache_->clear();
    EXPECT_EQ(this->kind.destroyed(), 4U);
    EXPECT_EQ(this->cache_->stats().destroy_failures, 1U);
  } else {
    GTEST_SKIP() << "this kind cannot make a destroy fail";
  }
}

TYPED_TEST_P(ContractSuite, NoCallReachesALibraryThatHasGone) {
  if constexpr (requires { this->kind.lose_library(); }) {
    this->make();
    this->use_once(1);
    auto lease = this->acquire(2);
    auto discarded = this->acquire(3);
    this->lost_ = true;
    this->kind.lose_library();
    lease.release();
    discarded.discard();
    this->cache_->clear();
    EXPECT_EQ(this->cache_->stats().abandoned, 3U);
    EXPECT_EQ(this->kind.destroyed(), 0U);
  } else {
    GTEST_SKIP() << "this kind cannot lose its library";
  }
}

TYPED_TEST_P(ContractSuite, RandomCallsKeepThePromises) {
  this->make({.max_idle = 5});
  std::mt19937 random(7);
  const auto pick = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<typename TestFixture::TheLease> leases;
  for (int step = 0; step < 2000; ++step) {
    switch (pick(12)) {
      case 0: this->cache_->prewarm(this->kind.key(pick(8)), static_cast<std::size_t>(pick(4))); break;
      case 1: this->set_budget({.max_idle = static_cast<std::size_t>(pick(9))}); break;
      case 2: (void)this->cache_->trim(static_cast<std::size_t>(pick(300))); break;
      case 3:
        if (pick(10) == 0) this->cache_->clear();
        break;
      case 4: (void)this->try_acquire(pick(8)); break;
      case 5:
      case 6:
      case 7:
        if (leases.size() < 6) leases.push_back(this->acquire(pick(8)));
        break;
      default: {
        if (leases.empty()) break;
        const auto which = leases.begin() + pick(static_cast<int>(leases.size()));
        this->kind.use(*which);
        switch (pick(6)) {
          case 0: which->discard(); break;
          case 1: which->release_deferred(); break;
          default: break;
        }
        leases.erase(which);
      }
    }
    this->expect_promises();
    if (testing::Test::HasFailure()) FAIL() << "at step " << step;
  }
  leases.clear();
}

TYPED_TEST_P(ContractSuite, ThreadsKeepThePromises) {
  this->make({.max_idle = 4});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int step = 0; step < 300; ++step) {
        auto lease = this->acquire(static_cast<int>(random() % 6));
        this->kind.use(lease);
        const auto choice = random() % 20;
        if (choice == 0) lease.discard();
        if (choice == 1) lease.release_deferred();
        if (choice == 2) this->cache_->clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  this->cache_->drain();
  EXPECT_EQ(this->cache_->stats().leased, 0U);
}

REGISTER_TYPED_TEST_SUITE_P(ContractSuite, ASecondRequestIsAHit, LeasesOfOneKeyShareOnlyWhatMayBeShared,
                            KeysAreNeverCrossed, ACountOf32Keeps32, ACountOfZeroKeepsNothing,
                            AByteBudgetIsNeverExceeded, ShrinkingTheBudgetEvictsAtOnce,
                            ALeaseStaysGoodAcrossClearAndAnEmptyBudget, DiscardDestroys, TryAcquireNeverBuilds,
                            PrewarmedHandlesAreHits, TrimAndClearLeaveTheLeased, DeferredReturnsAreTakenIn,
                            ALeaseReturnedAfterTheCacheDiedIsDestroyed, AFailedCreateLeavesNothingAndPoisonsNothing,
                            AFailedDestroyStopsNoOther, NoCallReachesALibraryThatHasGone, RandomCallsKeepThePromises,
                            ThreadsKeepThePromises);

}  // namespace larder::core_tests
