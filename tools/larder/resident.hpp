// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much memory this process holds.
#pragma once

#include <cstdint>

namespace larder::cli {

/// Memory of this process that is in RAM, in bytes, once what the allocator keeps free went back to the system: what is
/// held, not what was held at some time between two questions. Allocates nothing, so that asking does not change the answer.
///
/// @throws std::system_error where /proc/self/statm cannot be read
[[nodiscard]] std::uint64_t resident_bytes();

}  // namespace larder::cli
