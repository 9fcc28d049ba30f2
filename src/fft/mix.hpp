// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixing of numbers into a 64-bit hash (the finalizer of MurmurHash3 as the mixing step).
#pragma once

#include <cstdint>

namespace larder::fft {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53U;
  return hash ^ (hash >> 33);
}

}  // namespace larder::fft
