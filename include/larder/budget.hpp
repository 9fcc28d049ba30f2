// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Budget: what the idle handles of one cache may take.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace larder {

/// What idle handles may take; leased handles are not bounded (see Options::max_live).
///
/// Each limit is exact: a cap of 32 keeps 32 handles. 0 keeps nothing. A field left unset takes its value from the
/// environment (LARDER_MAX_IDLE, LARDER_MAX_IDLE_PER_KEY, LARDER_MAX_IDLE_BYTES, LARDER_MAX_IDLE_AGE), else from the
/// factory's `default_budget`, else it is `unlimited`.
struct Budget {
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  static constexpr std::chrono::nanoseconds unlimited_age = std::chrono::nanoseconds::max();

  std::optional<std::size_t> max_idle = std::nullopt;          ///< idle handles in the cache
  std::optional<std::size_t> max_idle_per_key = std::nullopt;  ///< idle handles of any one key
  std::optional<std::size_t> max_idle_bytes = std::nullopt;  ///< bytes held by idle handles, as the factory tells them
  /// How long a handle may lie idle. Handles past it go at the next call on the cache (there is no background thread).
  /// While an age is set every call reads the clock and takes the mutex.
  std::optional<std::chrono::nanoseconds> max_idle_age = std::nullopt;

  friend bool operator==(const Budget&, const Budget&) = default;
};

/// Reads a count such as "64" or "unlimited"; nullopt when the text is anything else or does not fit.
[[nodiscard]] std::optional<std::size_t> parse_count(std::string_view text) noexcept;

/// Reads a size in bytes such as "1048576", "256MiB", "2GiB", "64KiB" or "unlimited"; nullopt when malformed or too large.
[[nodiscard]] std::optional<std::size_t> parse_bytes(std::string_view text) noexcept;

/// Reads a duration such as "250ms", "30s", "5min", "2h" or "unlimited"; nullopt when malformed or too large.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept;

}  // namespace larder
