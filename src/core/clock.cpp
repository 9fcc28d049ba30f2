// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/clock.hpp>

#include <cstddef>
#include <new>

namespace larder {

namespace {

class SteadyClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const noexcept override { return std::chrono::steady_clock::now().time_since_epoch(); }
};

}  // namespace

const Clock& Clock::steady() noexcept {
  // Never destroyed: leases returned during static destruction still read it. Not allocated: it cannot fail.
  alignas(SteadyClock) static std::byte storage[sizeof(SteadyClock)];
  static const Clock& clock = *::new (static_cast<void*>(storage)) SteadyClock;
  return clock;
}

}  // namespace larder
