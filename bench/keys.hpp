// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keys of the benchmarks: a small integer, and a PlanSpec as the FFT caches use it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <larder/fft/plan_spec.hpp>
#include <string>
#include <vector>

namespace larder::bench {

template <class Key>
struct KeyKind;

template <>
struct KeyKind<std::uint64_t> {
  static constexpr const char* name = "int";
  [[nodiscard]] static std::uint64_t make(std::uint64_t number) { return number; }
  [[nodiscard]] static std::array<std::uint64_t, 2> in_16_bytes(std::uint64_t key) noexcept { return {key, 0}; }
};

template <>
struct KeyKind<fft::PlanSpec> {
  static constexpr const char* name = "plan";
  [[nodiscard]] static fft::PlanSpec make(std::uint64_t number) {
    return fft::PlanSpec::c2c({static_cast<std::int64_t>(16 + 2 * number), 64});
  }
  [[nodiscard]] static std::array<std::uint64_t, 2> in_16_bytes(const fft::PlanSpec& key) noexcept {
    return {key.hash(), static_cast<std::uint64_t>(key.lengths().front())};
  }
};

/// `count` keys, the first one made from `first`.
template <class Key>
[[nodiscard]] std::vector<Key> make_keys(std::uint64_t first, std::uint64_t count) {
  std::vector<Key> keys;
  keys.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(KeyKind<Key>::make(first + i));
  return keys;
}

}  // namespace larder::bench
