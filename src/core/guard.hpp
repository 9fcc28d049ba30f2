// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guard: keeps a policy that guesses from costing much more than GreedyDual-Size, which does not.
//
// The guard follows, by hashes of keys alone, what a cache with the same budget and policy gds would keep, and what it
// would pay for builds. Two states:
//   policy in charge   after each trial of some hundred builds the two bills are compared; was the cache's own a good
//                      deal higher, gds takes over
//   gds in charge      for a term of some hundred builds; then the policy has its next trial
// Each trial in a row that fails doubles the term, up to a limit: a policy that is always wrong is soon in charge for a
// small part of the time only, and one that was wrong for a while comes back.
//
// Handles that leave for any reason but the budget leave the shadow too, so that both pay for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

namespace larder::detail {

class Guard {
 public:
  struct Room {
    std::size_t handles;
    double size;
  };

  /// A key was used whose handle costs so much to build and has that size. @param room  the cache's budget
  void note_use(std::uint64_t hash, double build_cost, double size, Room room) noexcept;

  /// The cache built a handle for a key that had none.
  void note_build(double build_cost) noexcept;

  /// The key's handle left, and not because of the budget.
  void forget(std::uint64_t hash) noexcept;

  [[nodiscard]] bool gds_in_charge() const noexcept { return gds_in_charge_; }

  /// GreedyDual's L: the score that the shadow evicted last.
  [[nodiscard]] double inflation() const noexcept { return inflation_; }

 private:
  using Order = std::set<std::pair<double, std::uint64_t>>;  // {score, hash}: the lowest goes first
  struct Kept {
    Order::iterator place;
    double size;
  };

  void note_cost(double& bill, double build_cost) noexcept;
  void judge() noexcept;
  void clear() noexcept;

  Order order_;
  std::unordered_map<std::uint64_t, Kept> kept_;
  double size_ = 0;
  double inflation_ = 0;

  bool gds_in_charge_ = false;
  double own_bill_ = 0;
  double shadow_bill_ = 0;
  std::uint64_t builds_left_ = trial;  // of both, to the end of the trial or term
  std::uint64_t term_ = trial;

  static constexpr std::uint64_t trial = 512;
  static constexpr std::uint64_t longest_term = 64 * trial;
};

}  // namespace larder::detail
