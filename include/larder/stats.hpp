// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stats: what a cache has done and what it holds.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace larder {

/// Why a handle left the cache.
enum class EvictionCause : std::uint8_t {
  budget,       ///< Budget::max_idle, or Options::max_live making room for another key
  per_key,      ///< Budget::max_idle_per_key
  bytes,        ///< Budget::max_idle_bytes
  age,          ///< Budget::max_idle_age
  pressure,     ///< trim(), reclaim(), or a retry after a failed create
  cleared,      ///< clear() or the destruction of the cache
  discarded,    ///< Lease::discard() or abandon(), a member of the factory threw, or its context was gone at the return
  invalidated,  ///< invalidate() or fork: forgotten without being destroyed
};

inline constexpr std::size_t eviction_causes = 8;

/// The cause's name as it appears in messages and JSON.
[[nodiscard]] std::string_view to_string(EvictionCause cause) noexcept;

/// A snapshot of a cache's counters, consistent for everything that changes under the mutex; hits are summed per handle.
///
/// Always: created == destroyed + abandoned + live.
struct Stats {
  std::uint64_t hits = 0;            ///< requests served by a handle that was there
  std::uint64_t misses = 0;          ///< requests that found none, including those of try_acquire; not while capturing
  std::uint64_t builds = 0;          ///< successful creates ("created")
  std::uint64_t build_failures = 0;  ///< creates that threw
  std::uint64_t rebuilds = 0;  ///< builds of a key that was held before, as far back as the bounded history reaches
  std::chrono::nanoseconds build_time{0};                  ///< wall time of all successful creates
  std::array<std::uint64_t, eviction_causes> evictions{};  ///< indexed by EvictionCause
  std::uint64_t destroys = 0;          ///< destroys called, including those that threw ("destroyed")
  std::uint64_t destroy_failures = 0;  ///< destroys that threw
  std::uint64_t abandoned = 0;         ///< handles forgotten without destroy (invalidate, fork, library gone)

  std::size_t idle = 0;             ///< handles in the cache and free
  std::size_t idle_keys = 0;        ///< distinct keys among them
  std::size_t leased = 0;           ///< handles out on at least one lease
  std::size_t live = 0;             ///< idle + leased + being destroyed
  std::size_t idle_bytes = 0;       ///< bytes held by idle handles
  std::size_t leased_bytes = 0;     ///< bytes held by leased handles
  std::size_t peak_live = 0;        ///< most handles live at once
  std::size_t peak_live_bytes = 0;  ///< most bytes held at once by live handles

  [[nodiscard]] std::uint64_t evicted(EvictionCause cause) const noexcept {
    return evictions[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return std::accumulate(evictions.begin(), evictions.end(), std::uint64_t{0});
  }
};

}  // namespace larder
