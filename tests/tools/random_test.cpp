// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random draws: known values, and the shape of each distribution.
#include "simulator/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace larder::simulator {
namespace {

TEST(Random, IsSplitMix64) {
  // The published values for this seed.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Random, StreamsOfOneSeedDiffer) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (std::uint64_t stream = 0; stream < 10; ++stream) seeds.insert(stream_seed(seed, stream));
  }
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(Random, BelowTakesEveryNumberAboutEquallyOften) {
  Random random(1);
  std::vector<int> times(7);
  for (int i = 0; i < 70000; ++i) ++times.at(random.below(7));
  // Standard deviation of each: 93.
  for (const int each : times) EXPECT_NEAR(each, 10000, 500);
}

TEST(Random, NormalHasMean0AndDeviation1) {
  Random random(1);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double drawn = random.normal();
    sum += drawn;
    squares += drawn * drawn;
  }
  EXPECT_NEAR(sum / 20000, 0, 0.04);
  EXPECT_NEAR(squares / 20000, 1, 0.05);
}

TEST(Random, ZipfFallsWithTheRank) {
  const Zipf zipf(3, 1);
  Random random(1);
  std::vector<int> times(3);
  for (int i = 0; i < 11000; ++i) ++times.at(zipf.draw(random));
  // 1 : 1/2 : 1/3 are 6 : 3 : 2 of 11.
  EXPECT_NEAR(times[0], 6000, 250);
  EXPECT_NEAR(times[1], 3000, 250);
  EXPECT_NEAR(times[2], 2000, 250);
}

TEST(Random, SampleHoldsDifferentNumbersInRandomOrder) {
  Random random(1);
  std::vector<std::uint64_t> all = sample(random, 20, 20);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(all[i], i);
  const std::vector<std::uint64_t> some = sample(random, 5, 1000);
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), 5U);
}

TEST(Random, PowerAndLogarithmAreThoseOfTheLibraryToTheLastDigits) {
  for (double exponent = -40; exponent < 40; exponent += 0.37) {
    EXPECT_NEAR(power_of_two(exponent) / std::exp2(exponent), 1, 1e-14);
    EXPECT_NEAR(binary_logarithm(std::exp2(exponent)), exponent, 1e-13);
  }
  EXPECT_EQ(power_of_two(10), 1024);
  EXPECT_NEAR(binary_logarithm(1), 0, 1e-15);
}

}  // namespace
}  // namespace larder::simulator
