// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_set>

namespace larder::simulator {

namespace {

// 2^64 divided by the golden ratio: counting in steps of it visits all 64-bit numbers, far apart.
constexpr std::uint64_t golden_step = 0x9e3779b97f4a7c15;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t stream) noexcept {
  return mixed(mixed(seed + golden_step) + stream * golden_step);
}

std::uint64_t Random::next() noexcept {
  state_ += golden_step;
  return mixed(state_);
}

std::uint64_t Random::below(std::uint64_t count) noexcept {
  // Draws in the incomplete last multiple of count would favour small results.
  const std::uint64_t complete = std::numeric_limits<std::uint64_t>::max() / count * count;
  std::uint64_t drawn = next();
  while (drawn >= complete) drawn = next();
  return drawn % count;
}

double Random::normal() noexcept {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

Zipf::Zipf(std::uint64_t count, double exponent) {
  cumulated_.reserve(count);
  double sum = 0;
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    sum += power_of_two(-exponent * binary_logarithm(static_cast<double>(rank + 1)));
    cumulated_.push_back(sum);
  }
}

std::uint64_t Zipf::draw(Random& random) const {
  const double drawn = random.uniform() * cumulated_.back();
  const auto found = std::upper_bound(cumulated_.begin(), cumulated_.end() - 1, drawn);
  return static_cast<std::uint64_t>(found - cumulated_.begin());
}

std::vector<std::uint64_t> sample(Random& random, std::uint64_t count, std::uint64_t population) {
  // Floyd's algorithm; the last insertions are not random places, hence the shuffle.
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  std::unordered_set<std::uint64_t> taken;
  for (std::uint64_t last = population - count; last < population; ++last) {
    const std::uint64_t drawn = random.between(0, last);
    numbers.push_back(taken.insert(drawn).second ? drawn : last);
    taken.insert(numbers.back());
  }
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
  return numbers;
}

double power_of_two(double exponent) noexcept {
  const double whole = std::floor(exponent + 0.5);
  const double power = (exponent - whole) * std::numbers::ln2;
  // |power| <= 0.35: the first term left out is below 1e-17.
  constexpr int terms = 14;
  double sum = 1;
  for (int i = terms; i > 0; --i) sum = 1 + sum * power / i;
  return std::ldexp(sum, static_cast<int>(whole));
}

double binary_logarithm(double value) noexcept {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  // log(m) = 2 artanh((m - 1) / (m + 1)), and |ratio| <= 1/3: the first term left out is below 1e-17.
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  constexpr int last_odd = 33;
  double sum = 0;
  for (int odd = last_odd; odd > 0; odd -= 2) sum = sum * square + 1.0 / odd;
  return exponent + 2 * ratio * sum / std::numbers::ln2;
}

}  // namespace larder::simulator
