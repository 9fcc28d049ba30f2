// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What plans count for, on series of growth as an H200 shows them: chunks of 2 MiB that small plans share.
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/fft/measured_bytes.hpp"

namespace larder::fft {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t chunk = 2 * mib;

/// A device that hands out memory in chunks, and the sum of what its plans count for.
class Chunked {
 public:
  /// @return what the plan counts for
  std::uint64_t make(std::uint64_t held, const MeasuredBytes::PlanSize& size) {
    MeasuredBytes::Build build(measured_, 1, free());
    held_ += held;
    while (chunks_ * chunk < held_) ++chunks_;
    const std::uint64_t counted = build.done(free(), size);
    ledger_ += counted;
    return counted;
  }
  /// Its place stays in its chunk, for the next plan.
  void destroy(std::uint64_t held, std::uint64_t counted) {
    measured_.destroyed(1);
    held_ -= held;
    ledger_ -= counted;
  }
  void somebody_allocates(std::uint64_t bytes) { taken_ += bytes; }
  [[nodiscard]] std::uint64_t free() const { return 100000 * mib - chunks_ * chunk - taken_; }
  [[nodiscard]] std::uint64_t growth() const { return chunks_ * chunk; }
  [[nodiscard]] std::uint64_t ledger() const { return ledger_; }
  [[nodiscard]] MeasuredBytes& measured() { return measured_; }

 private:
  MeasuredBytes measured_;
  std::uint64_t held_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t ledger_ = 0;
};

MeasuredBytes::PlanSize plan(std::uint64_t length, std::uint64_t work_bytes) {
  return {length, length * 8, work_bytes};
}

void expect_close(const Chunked& device) {
  const double a_tenth_more = 1.1 * static_cast<double>(device.growth());
  EXPECT_NEAR(static_cast<double>(device.ledger()), a_tenth_more, 0.15 * a_tenth_more);
}

// Each series: the mean size and the work areas that were measured on an H200 near that length, sizes spread by 30 %.
struct Series {
  const char* name;
  std::uint64_t first_length;
  std::uint64_t step;
  std::uint64_t held;
  double work_per_byte;  // work area / array
};

class MeasuredSeries : public testing::TestWithParam<Series> {};

TEST_P(MeasuredSeries, After100PlansTheSumIsTheGrowthAndATenth) {
  const Series& series = GetParam();
  std::mt19937_64 random(5);
  Chunked device;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t length = series.first_length + i * series.step;
    const std::uint64_t held = series.held * (70 + random() % 61) / 100;
    (void)device.make(held,
                      plan(length, static_cast<std::uint64_t>(series.work_per_byte * static_cast<double>(length * 8))));
  }
  expect_close(device);
}

INSTANTIATE_TEST_SUITE_P(H200, MeasuredSeries,
                         testing::Values(Series{"Short", 1024, 2, 50 * kib, 0},
                                         Series{"Near12000", 12000, 2, 307 * kib, 2.73},
                                         Series{"Near100000", 100000, 2, 3584 * kib, 3.6},
                                         Series{"Near1000000", 1000000, 2, 29 * mib + 512 * kib, 3.8},
                                         Series{"HeavierThanGuessed", 100000, 2, 5 * mib, 3.6},
                                         Series{"LighterThanGuessed", 100000, 2, 2560 * kib, 3.6},
                                         Series{"SmoothHeavierThanGuessed", 100000, 2, 100 * kib, 1.4}),
                         [](const auto& series) { return series.param.name; });

TEST(MeasuredBytes, ClassesDoNotDisturbEachOther) {
  Chunked device;
  for (std::uint64_t i = 0; i < 100; ++i) {
    (void)device.make(40 * kib, plan(100000 + i, 800 * kib));
    (void)device.make(3584 * kib, plan(100000 + i, 2816 * kib));
  }
  expect_close(device);
  EXPECT_LT(device.make(40 * kib, plan(100500, 800 * kib)), 200 * kib);
  EXPECT_GT(device.make(3584 * kib, plan(100500, 2816 * kib)), 3 * mib);
}

TEST(MeasuredBytes, APlanCountsForAtLeast48KiB) {
  MeasuredBytes measured;
  for (int i = 0; i < 200; ++i) {
    MeasuredBytes::Build build(measured, 1, mib);
    EXPECT_EQ(build.done(mib, plan(64, 0)), 48 * kib);
  }
}

TEST(MeasuredBytes, SomebodyElsesAllocationSoonWearsOff) {
  Chunked device;
  for (std::uint64_t i = 0; i < 50; ++i) (void)device.make(50 * kib, plan(1024 + i, 0));
  {
    MeasuredBytes::Build build(device.measured(), 1, device.free());
    device.somebody_allocates(10000 * mib);
    EXPECT_LT(build.done(device.free(), plan(1024, 0)), 300 * kib);
  }
  for (std::uint64_t i = 0; i < 100; ++i) (void)device.make(50 * kib, plan(1024 + i, 0));
  EXPECT_LT(device.make(50 * kib, plan(1024, 0)), 130 * kib);
}

TEST(MeasuredBytes, MemoryThatSomebodyGaveBackIsNoGrowth) {
  MeasuredBytes measured;
  MeasuredBytes::Build build(measured, 1, mib);
  EXPECT_EQ(build.done(1000 * mib, plan(64, 0)), 48 * kib);
}

TEST(MeasuredBytes, PlansInThePlacesOfDestroyedOnesTeachNothing) {
  Chunked device;
  std::vector<std::uint64_t> counted;
  for (std::uint64_t i = 0; i < 64; ++i) counted.push_back(device.make(100 * kib, plan(1024 + i, 0)));
  const std::uint64_t before = counted.back();
  for (std::uint64_t i = 0; i < 500; ++i) {
    device.destroy(100 * kib, counted[i % 64]);
    counted[i % 64] = device.make(100 * kib, plan(1024 + i % 64, 0));
  }
  EXPECT_EQ(counted.back(), before);
}

TEST(MeasuredBytes, PlansMadeAtTheSameTimeShareTheGrowth) {
  MeasuredBytes measured;
  std::uint64_t ledger = 0;
  std::uint64_t free = 100000 * mib;
  for (int i = 0; i < 100; ++i) {
    MeasuredBytes::Build first(measured, 1, free);
    free -= mib;
    MeasuredBytes::Build second(measured, 1, free);
    free -= 4 * mib;
    ledger += first.done(free, plan(100000, 2816 * kib));
    free -= mib;
    ledger += second.done(free, plan(100000, 2816 * kib));
  }
  EXPECT_NEAR(static_cast<double>(ledger), 660.0 * mib, 60.0 * mib);  // and a tenth
}

TEST(MeasuredBytes, AFailedBuildLeavesNothing) {
  MeasuredBytes measured;
  std::uint64_t free = 1000 * mib;
  { const MeasuredBytes::Build failed(measured, 1, free); }
  free -= 500 * mib;
  MeasuredBytes::Build build(measured, 1, free);
  EXPECT_EQ(build.done(free, plan(64, 0)), 48 * kib);
}

TEST(MeasuredBytes, ContextsAreMeasuredApart) {
  MeasuredBytes measured;
  MeasuredBytes::Build first(measured, 1, 1000 * mib);
  MeasuredBytes::Build second(measured, 2, 10 * mib);
  EXPECT_EQ(first.done(1000 * mib, plan(64, 0)), 48 * kib);
  EXPECT_GT(second.done(8 * mib, plan(64, 0)), 100 * kib);
}

}  // namespace
}  // namespace larder::fft
