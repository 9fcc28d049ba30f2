// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KeyRecord: a key that has live handles, and what is known of its use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>

#include <larder/detail/slot.hpp>

namespace larder::detail {

/// What the cache remembers of a key, also after its handles are gone (bounded; see KeyHistory in src/core).
struct KeyUse {
  std::uint64_t uses = 0;
  std::uint64_t last_use = 0;     ///< logical time of the last use, in requests
  double build_cost = 0;          ///< smoothed, nanoseconds; 0 until built
  double return_rate = 0;         ///< as last computed; see ReturnModel in src/core
  std::uint64_t rate_until = 0;   ///< logical time up to which it holds
  std::uint32_t recent_gaps = 0;  ///< octaves of the last eight gaps between uses, the latest in the lowest four bits
  std::uint32_t octaves_passed = 0;  ///< by the gap that has not ended, as told to the ReturnModel
  double inflation = 0;              ///< the cache's inflation at last_use
  std::uint32_t evicted = 0;         ///< handles evicted and not rebuilt since
};

/// A smoothed measurement: the first sample as it is, then each new one with that weight.
[[nodiscard]] constexpr double smoothed(double old, double sample, double weight) noexcept {
  return old == 0 ? sample : old + weight * (sample - old);
}

/// One build that several requests wait for (shared handles). All of it: with the mutex held.
struct Flight {
  Slot* slot = nullptr;      ///< set when done and successful; each waiting request already has its lease
  std::exception_ptr error;  ///< set when done and failed
  bool done = false;
  Word waiting = 0;  ///< requests that wait
  std::thread::id builder;
};

/// Base of the typed record that holds the key itself. All of it: with the mutex held, but for the key and the hash.
struct KeyRecord {
  explicit KeyRecord(std::uint64_t hash_of_key) noexcept : hash(hash_of_key) {}
  virtual ~KeyRecord() = default;
  KeyRecord(const KeyRecord&) = delete;
  KeyRecord& operator=(const KeyRecord&) = delete;

  const std::uint64_t hash;
  Slot* slots = nullptr;  ///< the key's slots that are building, live or leaving, through next_of_key
  std::size_t slot_count = 0;
  std::size_t in_budget = 0;       ///< how many of them have a place in the budget
  std::shared_ptr<Flight> flight;  ///< the build under way, for shared handles
  KeyUse use;
};

}  // namespace larder::detail
