// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "guard.hpp"

#include <algorithm>
#include <new>

namespace larder::detail {

namespace {

// Bills of some hundred builds differ by a few percent by chance, and a policy that learns pays for its first lessons.
constexpr double too_dear = 1.15;

}  // namespace

void Guard::note_use(std::uint64_t hash, double build_cost, double size, Room room) noexcept {
  const double score = inflation_ + build_cost / size;
  const auto found = kept_.find(hash);
  if (found != kept_.end()) {
    auto node = order_.extract(found->second.place);
    node.value() = {score, hash};
    found->second.place = order_.insert(std::move(node)).position;
    size_ += size - std::exchange(found->second.size, size);
  } else {
    note_cost(shadow_bill_, build_cost);
    try {
      const auto place = order_.emplace(score, hash).first;
      kept_.emplace(hash, Kept{place, size});
      size_ += size;
    } catch (const std::bad_alloc&) {
      clear();
    }
  }
  while (kept_.size() > room.handles || (size_ > room.size && !kept_.empty())) {
    const auto [lowest, its_hash] = *order_.begin();
    inflation_ = std::max(inflation_, lowest);
    forget(its_hash);
  }
}

void Guard::note_build(double build_cost) noexcept { note_cost(own_bill_, build_cost); }

void Guard::forget(std::uint64_t hash) noexcept {
  const auto found = kept_.find(hash);
  if (found == kept_.end()) return;
  size_ -= found->second.size;
  order_.erase(found->second.place);
  kept_.erase(found);
}

void Guard::note_cost(double& bill, double build_cost) noexcept {
  bill += build_cost;
  if (--builds_left_ == 0) judge();
}

void Guard::judge() noexcept {
  const bool failed = !gds_in_charge_ && own_bill_ > too_dear * shadow_bill_;
  if (failed) {
    builds_left_ = term_;
    term_ = std::min(2 * term_, longest_term);
  } else {
    if (!gds_in_charge_) term_ = trial;
    builds_left_ = trial;
  }
  gds_in_charge_ = failed;
  own_bill_ = 0;
  shadow_bill_ = 0;
}

void Guard::clear() noexcept {
  order_.clear();
  kept_.clear();
  size_ = 0;
}

}  // namespace larder::detail
