// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// World: a fake clock, a remote control and a cache over it, with the check that nothing was lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

#include "doubles/fake_clock.hpp"
#include "doubles/remote_factory.hpp"

namespace larder::core_tests {

using doubles::Call;

/// Expects the books to balance: by the cache's own account, by the library's, and against each other.
inline void expect_balanced(const Stats& stats, std::uint64_t created, std::uint64_t destroyed) {
  EXPECT_EQ(stats.builds, stats.destroys + stats.abandoned + stats.live);
  EXPECT_EQ(stats.live, stats.idle + stats.leased);
  EXPECT_EQ(stats.builds, created) << "handles the cache counted against handles the library made";
  EXPECT_EQ(stats.destroys, destroyed) << "destroys the cache counted against handles the library destroyed";
  EXPECT_EQ(stats.evicted(), stats.destroys + stats.abandoned);
}

/// A cache over a RemoteFactory. At the end of its life it destroys the cache and expects nothing lost, nothing misused.
template <class Factory>
class World {
 public:
  explicit World(Budget budget = {}, Options options = {}) {
    options.clock = &clock;
    cache_.emplace(budget, options, Factory(control));
  }
  ~World() {
    if (!cache_) return;
    expect_balanced();
    cache_.reset();
    expect_nothing_left();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] HandleCache<Factory>& cache() { return *cache_; }
  [[nodiscard]] HandleCache<Factory>* operator->() { return &*cache_; }
  void destroy_cache() { cache_.reset(); }

  void expect_balanced() { core_tests::expect_balanced(cache_->stats(), control->created(), control->destroyed()); }
  void expect_nothing_left() const {
    EXPECT_EQ(control->live(), 0U);
    EXPECT_THAT(control->violations(), testing::IsEmpty());
  }

  doubles::FakeClock clock;
  std::shared_ptr<doubles::RemoteControl> control = std::make_shared<doubles::RemoteControl>(&clock);

 private:
  std::optional<HandleCache<Factory>> cache_;
};

using ExclusiveWorld = World<doubles::ExclusiveFactory>;
using SharedWorld = World<doubles::SharedFactory>;

/// Policy lru, to be able to say by hand what goes.
[[nodiscard]] inline Options by_recency() { return {.policy = Policy::lru}; }

}  // namespace larder::core_tests
