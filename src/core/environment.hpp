// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults from environment variables: LARDER_MAX_IDLE, LARDER_MAX_IDLE_PER_KEY, LARDER_MAX_IDLE_BYTES,
// LARDER_MAX_IDLE_AGE, LARDER_MAX_LIVE, LARDER_POLICY.
//
// A malformed value is reported on stderr, with the variable, the value and what is allowed, and then ignored.
#pragma once

#include <cstddef>
#include <optional>

#include <larder/budget.hpp>
#include <larder/policy.hpp>

namespace larder::detail {

/// Sets the fields that are unset, where the environment has a value for them; others are not looked at.
void fill_from_environment(Budget& budget);
[[nodiscard]] std::optional<std::size_t> max_live_from_environment();
[[nodiscard]] std::optional<Policy> policy_from_environment();

}  // namespace larder::detail
