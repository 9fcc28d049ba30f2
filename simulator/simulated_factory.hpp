// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A simulated library: handles that cost virtual time and imaginary bytes.
//
// Whoever drives the simulation sets SimulatedDevice::next_build before a request; should the cache decide to build,
// that is what the build costs. No time passes anywhere else, so a simulation is the same on every machine. States of a
// handle: built (counted in live_bytes), destroyed. For one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <larder/clock.hpp>
#include <larder/error.hpp>
#include <larder/factory.hpp>
#include <limits>
#include <string>

namespace larder::simulator {

/// A clock that moves only when told to.
class VirtualClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override { return now_; }
  void advance(std::chrono::nanoseconds duration) noexcept { now_ += duration; }
  /// Moves on to `time`; stays where it is when that has passed.
  void advance_to(std::chrono::nanoseconds time) noexcept {
    if (time > now_) now_ = time;
  }

 private:
  std::chrono::nanoseconds now_{0};
};

/// What building one handle takes.
struct BuildDemand {
  std::chrono::nanoseconds time{0};
  std::size_t bytes = 0;
};

/// The state that a simulated factory acts on; must outlive the cache and its leases.
struct SimulatedDevice {
  VirtualClock clock;
  BuildDemand next_build;
  std::size_t live_bytes = 0;
};

/// Makes handles of any kind of key on a SimulatedDevice.
template <class KeyType>
class SimulatedFactory {
 public:
  using Key = KeyType;
  struct Handle {
    std::size_t bytes;
  };
  static constexpr bool bytes_fixed = true;

  explicit SimulatedFactory(SimulatedDevice& device) noexcept : device_(&device) {}

  /// @throws InvalidArgument when the live handles would hold more bytes than can be counted
  Handle create(const Key& /*key*/) {
    const BuildDemand demand = device_->next_build;
    if (demand.bytes > std::numeric_limits<std::size_t>::max() - device_->live_bytes) {
      throw InvalidArgument("a handle of " + std::to_string(demand.bytes) + " bytes beside live ones of " +
                            std::to_string(device_->live_bytes) + " bytes is more than can be counted");
    }
    device_->live_bytes += demand.bytes;
    device_->clock.advance(demand.time);
    return {demand.bytes};
  }
  void destroy(const Key& /*key*/, Handle handle) noexcept { device_->live_bytes -= handle.bytes; }
  [[nodiscard]] std::size_t bytes(const Key& /*key*/, const Handle& handle) const noexcept { return handle.bytes; }

 private:
  SimulatedDevice* device_;
};

}  // namespace larder::simulator
