// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options: what a cache is made with, beside its budget.
#pragma once

#include <cstddef>
#include <optional>

#include <larder/clock.hpp>
#include <larder/listener.hpp>
#include <larder/policy.hpp>

namespace larder {

/// Settings fixed for the life of a cache. A field set here overrides the environment (LARDER_POLICY, LARDER_MAX_LIVE).
struct Options {
  std::optional<Policy> policy = std::nullopt;  ///< default Policy::value
  /// Most handles live at once, idle and leased together, at least 1; default unlimited. With it set, acquire() waits until a
  /// handle comes back, which deadlocks a thread that holds all of them: prefer acquire(key, deadline).
  std::optional<std::size_t> max_live = std::nullopt;
  Listener* listener = nullptr;           ///< not owned; see Listener for its lifetime
  const Clock* clock = &Clock::steady();  ///< not owned; must outlive the cache and its leases
};

}  // namespace larder
