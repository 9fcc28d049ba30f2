// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenLeases: the leases of a trace that have not ended, ended in order of time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace larder::simulator {

/// Leases that end at known times of a trace; those that end together end in the order in which they began.
template <class Lease>
class OpenLeases {
 public:
  void add(std::chrono::nanoseconds end, Lease lease) {
    heap_.push_back({end, begun_++, std::move(lease)});
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Ends what is over by then, each after a call of `before_end` with its time.
  template <class BeforeEnd>
  void end_until(std::chrono::nanoseconds time, BeforeEnd&& before_end) {
    while (!heap_.empty() && heap_.front().end <= time) {
      std::pop_heap(heap_.begin(), heap_.end());
      before_end(heap_.back().end);
      heap_.pop_back();
    }
  }

 private:
  struct Open {
    std::chrono::nanoseconds end;
    std::uint64_t order;
    Lease lease;

    // std::push_heap keeps the greatest on top; the lease that ends first must be there.
    friend bool operator<(const Open& a, const Open& b) noexcept {
      return a.end != b.end ? a.end > b.end : a.order > b.order;
    }
  };

  std::vector<Open> heap_;
  std::uint64_t begun_ = 0;
};

}  // namespace larder::simulator
