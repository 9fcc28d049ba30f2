// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The offline bound: worked out by hand, and held against an exhaustive search on tiny traces.
#include "simulator/bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <larder/error.hpp>
#include <larder/policy.hpp>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "simulator/replay.hpp"

namespace larder::simulator {
namespace {

using std::chrono::nanoseconds;

TraceRow row(std::int64_t time, const std::string& key, std::int64_t build, std::size_t bytes = 1,
             std::int64_t lease = 0) {
  return {
      .time = nanoseconds(time), .key = key, .bytes = bytes, .build = nanoseconds(build), .lease = nanoseconds(lease)};
}

TEST(OfflineBoundTest, OfTwoKeysForOnePlaceItKeepsTheDearerOne) {
  // a and b in turn, one place: a (100) is kept, b (10) is built three times.
  const std::vector<TraceRow> rows = {row(0, "a", 100), row(1, "b", 10),  row(2, "a", 100),
                                      row(3, "b", 10),  row(4, "a", 100), row(5, "b", 10)};
  const OfflineBound offline = offline_bound(rows, {.max_idle = 1});
  EXPECT_EQ(offline.bound, nanoseconds(130));
  EXPECT_EQ(offline.feasible, nanoseconds(130));
}

TEST(OfflineBoundTest, WithoutALimitOnlyFirstBuildsAndOverlapsCost) {
  // a is built for the first request and for the second, which comes while the first lease is open.
  const std::vector<TraceRow> rows = {row(0, "a", 5, 1, 10), row(5, "a", 5, 1, 10), row(20, "a", 5), row(21, "a", 5)};
  EXPECT_EQ(offline_bound(rows, {}).bound, nanoseconds(10));
  EXPECT_EQ(offline_bound(rows, {}).feasible, nanoseconds(10));
}

TEST(OfflineBoundTest, AZeroBudgetKeepsNothing) {
  const std::vector<TraceRow> rows = {row(0, "a", 5), row(1, "a", 5), row(2, "b", 7)};
  for (const Budget& budget : {Budget{.max_idle = 0}, Budget{.max_idle_bytes = 0}}) {
    EXPECT_EQ(offline_bound(rows, budget).bound, nanoseconds(17));
    EXPECT_EQ(offline_bound(rows, budget).feasible, nanoseconds(17));
  }
}

TEST(OfflineBoundTest, FractionsOfAHandleMakeTheDifferenceToAFeasibleSchedule) {
  // 3 bytes for two handles of 2: one and a half of them can be kept as fractions, but only one as a whole.
  const std::vector<TraceRow> rows = {row(0, "a", 10, 2), row(1, "b", 10, 2), row(2, "a", 10, 2), row(3, "b", 10, 2)};
  const OfflineBound offline = offline_bound(rows, {.max_idle_bytes = 3});
  EXPECT_EQ(offline.bound, nanoseconds(25));
  EXPECT_EQ(offline.feasible, nanoseconds(30));
}

TEST(OfflineBoundTest, OfTwoLimitsTheTighterOneBinds) {
  const std::vector<TraceRow> rows = {row(0, "a", 10, 2), row(1, "b", 10, 2), row(2, "a", 10, 2), row(3, "b", 10, 2)};
  EXPECT_EQ(offline_bound(rows, {.max_idle = 1, .max_idle_bytes = 4}).bound, nanoseconds(30));
  EXPECT_EQ(offline_bound(rows, {.max_idle = 2, .max_idle_bytes = 2}).bound, nanoseconds(30));
  EXPECT_EQ(offline_bound(rows, {.max_idle = 2, .max_idle_bytes = 4}).bound, nanoseconds(20));
}

TEST(OfflineBoundTest, HotKeysAreKeptOverColdOnes) {
  // 16 hot keys and 4 that never come again, in 200 rounds with 16 places: each hot key is built once, each cold one too.
  std::vector<TraceRow> rows;
  for (int round = 0; round < 200; ++round) {
    for (int hot = 0; hot < 16; ++hot) rows.push_back(row(std::int64_t(rows.size()), std::to_string(hot), 1));
    for (int cold = 0; cold < 4; ++cold) {
      rows.push_back(row(std::int64_t(rows.size()), std::to_string(16 + round * 4 + cold), 1));
    }
  }
  // A cold handle that comes back takes one of the 16 places for a moment, if only to be evicted.
  EXPECT_EQ(offline_bound(rows, {.max_idle = 16}).bound, nanoseconds(16 + 800));
}

TEST(OfflineBoundTest, LargestNumbersAreCounted) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const std::vector<TraceRow> rows = {row(0, "a", most / 4, most), row(1, "a", most / 4, most),
                                      row(2, "b", most / 4, most), row(3, "a", most / 4, most)};
  EXPECT_EQ(offline_bound(rows, {.max_idle_bytes = most}).feasible, nanoseconds(most / 4 * 2));
  EXPECT_EQ(offline_bound(rows, {.max_idle_bytes = 1}).bound, nanoseconds(most / 4 * 4));
}

TEST(OfflineBoundTest, ABuildTimeThatCannotBeCountedIsRefused) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(static_cast<void>(offline_bound({row(0, "a", most), row(1, "a", 1)}, {.max_idle = 1})), InvalidArgument);
}

/// Tries every choice of what to keep after each return; for tiny traces of constant bytes and builds per key.
class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const std::vector<TraceRow>& rows, const Budget& budget) : rows_(rows), budget_(budget) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      events_.push_back({.time = rows[i].time, .acquires = true, .row = i});
      events_.push_back({.time = rows[i].lease_end(), .acquires = false, .row = i});
    }
    // What ends at the time of a request ends before it, but not before it began.
    std::stable_sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::pair(a.time, a.acquires) < std::pair(b.time, b.acquires);
    });
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const auto begun = std::find_if(events_.begin(), events_.end(),
                                      [&](const Event& e) { return e.acquires && e.row == events_[i].row; });
      if (!events_[i].acquires && begun - events_.begin() > std::ptrdiff_t(i)) {
        std::rotate(events_.begin() + std::ptrdiff_t(i), events_.begin() + std::ptrdiff_t(i) + 1, begun + 1);
        --i;
      }
    }
  }

  std::int64_t optimum() { return from(0, {}); }

 private:
  struct Event {
    nanoseconds time;
    bool acquires;
    std::size_t row;
  };
  using Idle = std::map<std::string, int>;

  bool fits(const Idle& idle) const {
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (const auto& [key, handles] : idle) {
      const auto it =
          std::find_if(rows_.begin(), rows_.end(), [&key = key](const TraceRow& r) { return r.key == key; });
      count += static_cast<std::size_t>(handles);
      bytes += static_cast<std::size_t>(handles) * it->bytes;
    }
    return count <= budget_.max_idle.value_or(Budget::unlimited) &&
           bytes <= budget_.max_idle_bytes.value_or(Budget::unlimited);
  }

  std::int64_t from(std::size_t event, const Idle& idle) {
    if (event == events_.size()) return 0;
    const auto [known, is_new] = known_.try_emplace({event, idle}, 0);
    if (!is_new) return known->second;
    const TraceRow& row = rows_[events_[event].row];
    Idle next = idle;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    if (events_[event].acquires) {
      if (next[row.key] > 0) {
        if (--next[row.key] == 0) next.erase(row.key);
        best = from(event + 1, next);
      } else {
        next.erase(row.key);
        best = row.build.count() + from(event + 1, next);
      }
    } else {
      ++next[row.key];
      for_each_part(next, [&](const Idle& kept) {
        if (fits(kept)) best = std::min(best, from(event + 1, kept));
      });
    }
    known_[{event, idle}] = best;
    return best;
  }

  static void for_each_part(const Idle& idle, const std::function<void(const Idle&)>& visit) {
    std::vector<std::pair<std::string, int>> most(idle.begin(), idle.end());
    std::function<void(std::size_t, Idle)> choose = [&](std::size_t i, const Idle& chosen) {
      if (i == most.size()) return visit(chosen);
      for (int kept = 0; kept <= most[i].second; ++kept) {
        Idle more = chosen;
        if (kept > 0) more[most[i].first] = kept;
        choose(i + 1, more);
      }
    };
    choose(0, {});
  }

  const std::vector<TraceRow>& rows_;
  const Budget& budget_;
  std::vector<Event> events_;
  std::map<std::pair<std::size_t, Idle>, std::int64_t> known_;
};

TEST(OfflineBoundTest, OnTinyTracesTheOptimumLiesBetweenTheBoundAndEverySchedule) {
  std::minstd_rand random(2026);
  std::int64_t bounds = 0;
  std::int64_t optima = 0;
  std::int64_t schedules = 0;
  for (int trace = 0; trace < 200; ++trace) {
    const std::array<std::string, 5> keys = {"a", "b", "c", "d", "e"};
    std::array<std::int64_t, 5> builds{};
    std::array<std::size_t, 5> bytes{};
    for (auto& build : builds) build = 1 + std::int64_t(random() % 100);
    for (auto& size : bytes) size = random() % 8;
    std::vector<TraceRow> rows;
    std::int64_t time = 0;
    for (int i = 0; i < 14; ++i) {
      const std::size_t key = random() % keys.size();
      const auto lease = std::int64_t(random() % 3 == 0 ? random() % 6 : 0);
      rows.push_back(row(time += std::int64_t(random() % 3), keys[key], builds[key], bytes[key], lease));
    }
    Budget budget;
    if (trace % 3 != 0) budget.max_idle_bytes = random() % 16;
    if (trace % 3 != 1) budget.max_idle = random() % 4;

    const OfflineBound offline = offline_bound(rows, budget);
    const std::int64_t optimum = ExhaustiveSearch(rows, budget).optimum();
    ASSERT_LE(offline.bound.count(), optimum) << "trace " << trace;
    ASSERT_GE(offline.feasible.count(), optimum) << "trace " << trace;
    for (const Policy& policy : {Policy::value, Policy::lru, Policy::gds}) {
      Replay replay(policy, budget);
      for (const TraceRow& each : rows) replay.request(each);
      ASSERT_LE(optimum, replay.stats().build_time.count()) << policy.name << " on trace " << trace;
    }
    bounds += offline.bound.count();
    optima += optimum;
    schedules += offline.feasible.count();
  }
  // And both are near: a bound of nothing but first builds, or a schedule that keeps nothing, would be far off.
  EXPECT_GT(bounds * 100, optima * 97);
  EXPECT_LT(schedules * 100, optima * 103);
}

}  // namespace
}  // namespace larder::simulator
