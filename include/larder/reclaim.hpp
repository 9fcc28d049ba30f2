// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// reclaim: give back what the idle handles of the whole process hold.
#pragma once

#include <cstddef>

#include <larder/budget.hpp>

namespace larder {

/// Gives up idle handles of every cache in the process, cache by cache, until `bytes` are freed.
///
/// @param bytes  how much to free; Budget::unlimited empties every cache
/// @return       bytes freed, as the factories tell them
/// Thread-safe; must not be called from a factory that holds a lock its own destroy needs.
std::size_t reclaim(std::size_t bytes = Budget::unlimited);

}  // namespace larder
