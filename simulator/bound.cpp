// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bound.hpp"

#include <fmt/format.h>
#include <lemon/network_simplex.h>
#include <lemon/static_graph.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <larder/error.hpp>
#include <limits>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace larder::simulator {

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// A return and the request that could take what came back.
struct Pair {
  std::size_t first;  // moments first to last, both included, lie between return and request
  std::size_t last;
  std::int64_t build;        // ns saved when it is kept
  std::int64_t least_bytes;  // that a handle of the key was built with up to then
  std::int64_t most_bytes;
};

/// A trace as returns matched with requests.
///
/// A moment is a point in time after a return and before the next request: where the most handles are idle.
struct Matching {
  std::vector<Pair> pairs;
  std::size_t moments = 0;
  std::int64_t unmatched = 0;  // ns of builds that nobody can save
};

Matching match(const std::vector<TraceRow>& rows) {
  struct Key {
    std::vector<std::size_t> returned;  // the next moment after each return that is not matched yet, latest last
    std::int64_t least_bytes = most;
    std::int64_t most_bytes = 0;
  };
  using Return = std::tuple<std::chrono::nanoseconds, std::size_t, Key*>;  // in order of time, then of requests
  Matching matching;
  std::unordered_map<std::string, Key> keys;
  std::priority_queue<Return, std::vector<Return>, std::greater<>> leases;
  bool returned = false;  // since the last request
  std::int64_t total = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TraceRow& row = rows[i];
    for (; !leases.empty() && std::get<0>(leases.top()) <= row.time; leases.pop()) {
      std::get<Key*>(leases.top())->returned.push_back(matching.moments);
      returned = true;
    }
    if (std::exchange(returned, false)) ++matching.moments;
    const std::int64_t build = row.build.count();
    if (build > most - total)
      throw InvalidArgument("the builds of the trace take more nanoseconds than can be counted");
    total += build;
    const auto bytes = static_cast<std::int64_t>(row.bytes);
    Key& key = keys[row.key];
    if (key.returned.empty()) {
      matching.unmatched += build;
    } else {
      matching.pairs.push_back({.first = key.returned.back(),
                                .last = matching.moments - 1,
                                .build = build,
                                .least_bytes = key.least_bytes,
                                .most_bytes = key.most_bytes});
      key.returned.pop_back();
    }
    key.least_bytes = std::min(key.least_bytes, bytes);
    key.most_bytes = std::max(key.most_bytes, bytes);
    leases.emplace(row.lease_end(), i, &key);
  }
  return matching;
}

/// The best choice of fractions of pairs under one limit.
struct Fractions {
  double lost = 0;           // ns of matched builds that no choice can save
  std::vector<double> kept;  // of each pair, 0 to 1
};

/// Solves the linear program. Sizes are what a pair takes of the limit; a pair that takes nothing is kept.
Fractions choose_fractions(const Matching& matching, const std::vector<std::int64_t>& sizes, std::int64_t limit) {
  Fractions result{.lost = 0, .kept = std::vector<double>(sizes.size(), 0)};
  std::vector<std::size_t> arc_pairs;
  double densest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Pair& pair = matching.pairs[i];
    if (sizes[i] == 0) {
      result.kept[i] = 1;
    } else if (sizes[i] > limit) {
      result.lost += static_cast<double>(pair.build);
    } else {
      arc_pairs.push_back(i);
      densest = std::max(densest, static_cast<double>(pair.build) / static_cast<double>(sizes[i]));
    }
  }
  if (arc_pairs.empty() || densest == 0) return result;

  // A unit of the limit that passes from moment to moment is free; one in a pair saves its build / size on the way. The
  // solver counts in whole numbers, as fine as the longest path allows.
  const double scale = 0x1p58 / densest / static_cast<double>(matching.moments + 2);
  const auto saving = [&](std::size_t pair) {
    return static_cast<double>(matching.pairs[pair].build) / static_cast<double>(sizes[pair]);
  };
  using Graph = lemon::StaticDigraph;
  std::vector<std::pair<int, int>> ends;
  for (std::size_t moment = 0; moment < matching.moments; ++moment) {
    ends.emplace_back(static_cast<int>(moment), static_cast<int>(moment + 1));
  }
  for (const std::size_t i : arc_pairs) {
    ends.emplace_back(static_cast<int>(matching.pairs[i].first), static_cast<int>(matching.pairs[i].last + 1));
  }
  // A static graph takes its arcs ordered by their sources, and numbers them so.
  std::vector<std::size_t> order(ends.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ends[a].first < ends[b].first; });
  std::vector<std::pair<int, int>> sorted;
  sorted.reserve(ends.size());
  for (const std::size_t i : order) sorted.push_back(ends[i]);
  Graph graph;
  graph.build(static_cast<int>(matching.moments + 1), sorted.begin(), sorted.end());

  Graph::ArcMap<std::int64_t> capacity(graph);
  Graph::ArcMap<std::int64_t> cost(graph);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Graph::Arc arc = Graph::arc(static_cast<int>(i));
    const bool moves_on = order[i] < matching.moments;
    const std::size_t pair = moves_on ? 0 : arc_pairs[order[i] - matching.moments];
    capacity[arc] = moves_on ? limit : sizes[pair];
    cost[arc] = moves_on ? 0 : -static_cast<std::int64_t>(saving(pair) * scale);
  }
  lemon::NetworkSimplex<Graph, std::int64_t> simplex(graph);
  simplex.upperMap(capacity).costMap(cost);
  simplex.stSupply(Graph::node(0), Graph::node(static_cast<int>(matching.moments)), limit);
  if (simplex.run() != decltype(simplex)::OPTIMAL) throw Error("the offline bound has no solution; please report this");

  // What the limit costs at each moment, summed up; any prices that are not negative give a valid bound.
  std::vector<double> price_up_to(matching.moments + 1, 0);
  for (std::size_t moment = 0; moment < matching.moments; ++moment) {
    const std::int64_t step = simplex.potential(Graph::node(static_cast<int>(moment))) -
                              simplex.potential(Graph::node(static_cast<int>(moment + 1)));
    price_up_to[moment + 1] = price_up_to[moment] + std::max(0.0, static_cast<double>(step) / scale);
  }
  double most_saved = static_cast<double>(limit) * price_up_to.back();
  for (const std::size_t i : arc_pairs) {
    const Pair& pair = matching.pairs[i];
    const double price = (price_up_to[pair.last + 1] - price_up_to[pair.first]) * static_cast<double>(sizes[i]);
    const auto build = static_cast<double>(pair.build);
    most_saved += std::max(0.0, build - price);
    result.lost += build;
  }
  result.lost = std::max(0.0, result.lost - most_saved);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < matching.moments) continue;
    const std::size_t pair = arc_pairs[order[i] - matching.moments];
    result.kept[pair] =
        static_cast<double>(simplex.flow(Graph::arc(static_cast<int>(i)))) / static_cast<double>(sizes[pair]);
  }
  return result;
}

/// Idle handles at each moment under one limit.
class Occupancy {
 public:
  Occupancy(std::size_t moments, std::int64_t limit) : taken_(moments, 0), limit_(limit) {}

  [[nodiscard]] bool has_room(const Pair& pair, std::int64_t size) const {
    if (size > limit_) return false;
    return std::all_of(at(pair.first), at(pair.last + 1), [&](std::int64_t taken) { return taken <= limit_ - size; });
  }
  void take(const Pair& pair, std::int64_t size) {
    for (std::size_t moment = pair.first; moment <= pair.last; ++moment) taken_[moment] += size;
  }

 private:
  [[nodiscard]] std::vector<std::int64_t>::const_iterator at(std::size_t moment) const {
    return taken_.begin() + static_cast<std::ptrdiff_t>(moment);
  }

  std::vector<std::int64_t> taken_;
  std::int64_t limit_;
};

/// ns of matched builds that are not saved when pairs are kept whole: those of the largest fractions first, and of equal
/// ones those that save most for what they take.
std::int64_t lost_by_whole_pairs(const Matching& matching, const std::vector<double>& fractions, std::int64_t max_idle,
                                 std::int64_t max_bytes) {
  std::vector<std::size_t> order(matching.pairs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto worth = [&](std::size_t i) {
    const Pair& pair = matching.pairs[i];
    const double size = max_bytes == most ? 1.0 : static_cast<double>(std::max<std::int64_t>(pair.most_bytes, 1));
    return static_cast<double>(pair.build) / size / static_cast<double>(pair.last - pair.first + 1);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(fractions[a], worth(a)) > std::pair(fractions[b], worth(b));
  });
  Occupancy handles(matching.moments, max_idle);
  Occupancy bytes(matching.moments, max_bytes);
  std::int64_t lost = 0;
  for (const std::size_t i : order) {
    const Pair& pair = matching.pairs[i];
    if (handles.has_room(pair, 1) && bytes.has_room(pair, pair.most_bytes)) {
      handles.take(pair, 1);
      bytes.take(pair, pair.most_bytes);
    } else {
      lost += pair.build;
    }
  }
  return lost;
}

std::int64_t limit_from(const std::optional<std::size_t>& limit) {
  return static_cast<std::int64_t>(std::min(limit.value_or(Budget::unlimited), static_cast<std::size_t>(most)));
}

}  // namespace

OfflineBound offline_bound(const std::vector<TraceRow>& rows, const Budget& budget) {
  const Matching matching = match(rows);
  const std::int64_t max_idle = limit_from(budget.max_idle);
  const std::int64_t max_bytes = limit_from(budget.max_idle_bytes);
  Fractions best{.lost = 0, .kept = std::vector<double>(matching.pairs.size(), 1)};
  const auto consider = [&](const std::vector<std::int64_t>& sizes, std::int64_t limit) {
    Fractions fractions = choose_fractions(matching, sizes, limit);
    if (fractions.lost >= best.lost) best = std::move(fractions);
  };
  if (max_idle != most) consider(std::vector<std::int64_t>(matching.pairs.size(), 1), max_idle);
  if (max_bytes != most) {
    std::vector<std::int64_t> sizes;
    for (const Pair& pair : matching.pairs) sizes.push_back(pair.least_bytes);
    consider(sizes, max_bytes);
  }
  const std::int64_t lost = lost_by_whole_pairs(matching, best.kept, max_idle, max_bytes);
  return {.bound = std::chrono::nanoseconds(matching.unmatched + std::min(static_cast<std::int64_t>(best.lost), lost)),
          .feasible = std::chrono::nanoseconds(matching.unmatched + lost)};
}

}  // namespace larder::simulator
