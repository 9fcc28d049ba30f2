// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random draws that are the same on every platform.
//
// The standard's engines are portable, its distributions are not, and neither are std::exp and std::log to the last bit.
// Here every draw is made of integer operations and of those that IEEE 754 rounds exactly: + - * / and scaling by powers
// of two. This needs floating-point contraction switched off, which CMakeLists.txt does for the simulator.
#pragma once

#include <cstdint>
#include <vector>

namespace larder::simulator {

/// A seed for one of several independent streams that belong to `seed`.
[[nodiscard]] std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t stream) noexcept;

/// SplitMix64: a counter, and a mixing function over it. Any two seeds give streams that look independent.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept;
  /// From 0 up to, without, 1.
  [[nodiscard]] double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// From 0 to count - 1, all equally likely. @param count  at least 1
  [[nodiscard]] std::uint64_t below(std::uint64_t count) noexcept;
  /// From least to most, both included.
  [[nodiscard]] std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
    return least + below(most - least + 1);
  }
  /// Mean 0, standard deviation 1: twelve uniform draws less 6. Never beyond 6, which no use here would notice.
  [[nodiscard]] double normal() noexcept;

 private:
  std::uint64_t state_;
};

/// Ranks from 0 to count - 1, rank r with a chance in proportion to 1 / (r + 1)^exponent.
class Zipf {
 public:
  /// @param count  at least 1
  Zipf(std::uint64_t count, double exponent);
  [[nodiscard]] std::uint64_t draw(Random& random) const;

 private:
  std::vector<double> cumulated_;
};

/// `count` different numbers from 0 to population - 1, in random order.
/// @param count  at most population
[[nodiscard]] std::vector<std::uint64_t> sample(Random& random, std::uint64_t count, std::uint64_t population);

/// 2 to the power of `exponent`, which is within +-1000.
[[nodiscard]] double power_of_two(double exponent) noexcept;

/// The logarithm to base 2 of a positive number.
[[nodiscard]] double binary_logarithm(double value) noexcept;

}  // namespace larder::simulator
