// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cases from the field on real FFTW plans; each carries its number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <larder/error.hpp>
#include <larder/fft/fftw.hpp>
#include <numeric>
#include <thread>
#include <vector>

#include "fft/sanitized.hpp"
#include "fft/shifted_array.hpp"

namespace larder::fft {
namespace {

using fftw::PlanCache;
using fftw::PlanKey;
using tests::ShiftedArray;
using Complex = std::complex<double>;

TEST(FftwCases, C01_DistinctKeysStayWithinMaxIdle) {
  PlanCache plans({.max_idle = 32});
  for (std::int64_t n = 1; n <= 100; ++n) {
    for (std::int64_t batch = 1; batch <= 100; ++batch) {
      (void)plans.acquire(PlanKey(PlanSpec({.lengths = {n}, .batch = batch})));
      ASSERT_LE(plans.stats().idle, 32U);
    }
  }
  const Stats stats = plans.stats();
  EXPECT_EQ(stats.builds, 10000U);
  EXPECT_EQ(stats.destroys, 9968U);
  EXPECT_EQ(stats.idle, 32U);
}

std::int64_t resident_bytes() {
  malloc_trim(0);  // what malloc keeps for itself is not held by plans
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(FftwCases, C05_ResidentMemoryIsFlatAfterWarmUp) {
  if (tests::sanitized) GTEST_SKIP() << "the sanitizer keeps freed memory for itself";
  // Unbounded, 1500 plans of these lengths hold more than 16 bytes x 10000 x 1500 = 240 MB.
  const bool long_run = std::getenv("LARDER_LONG_TESTS") != nullptr;
  const std::int64_t last = long_run ? 19999 : 11999;
  PlanCache plans({.max_idle = 64});
  std::int64_t warm = 0;
  for (std::int64_t n = 10000; n <= last; ++n) {
    (void)plans.acquire(PlanKey(PlanSpec::c2c({n})));
    if (n == 10500) warm = resident_bytes();
  }
  constexpr std::int64_t mib = 1 << 20;
  EXPECT_GT(warm, 0);
  EXPECT_LT(resident_bytes() - warm, 40 * mib);
  EXPECT_EQ(plans.stats().idle, 64U);
}

TEST(FftwCases, C38_AnotherUsersPlanAndWisdomOutliveTheCache) {
  fftw_init_threads();
  ShiftedArray<Complex> in(60);
  ShiftedArray<Complex> out(60);
  auto* const theirs_in = reinterpret_cast<fftw_complex*>(in.data());
  auto* const theirs_out = reinterpret_cast<fftw_complex*>(out.data());
  fftw_plan theirs = fftw_plan_dft_1d(60, theirs_in, theirs_out, FFTW_FORWARD, FFTW_MEASURE);
  {
    PlanCache plans;
    for (std::int64_t n = 1; n <= 100; ++n) (void)plans.acquire(PlanKey(PlanSpec::c2c({n})));
    plans.clear();
  }
  std::fill(in.begin(), in.end(), 1.0);
  fftw_execute(theirs);
  EXPECT_DOUBLE_EQ(out[0].real(), 60);
  fftw_destroy_plan(theirs);
  // fftw_cleanup would have forgotten what the planner learnt.
  theirs = fftw_plan_dft_1d(60, theirs_in, theirs_out, FFTW_FORWARD, FFTW_MEASURE | FFTW_WISDOM_ONLY);
  EXPECT_NE(theirs, nullptr);
  if (theirs != nullptr) fftw_destroy_plan(theirs);
}

/// Plans and runs one length in one precision; whether the first element, the sum of ones, is right.
template <class Real>
bool sums_ones(PlanCache& plans, std::int64_t n, Precision precision) {
  ShiftedArray<std::complex<Real>> in(static_cast<std::size_t>(n));
  ShiftedArray<std::complex<Real>> out(static_cast<std::size_t>(n));
  std::fill(in.begin(), in.end(), Real{1});
  const PlanSpec spec = PlanSpec::c2c({n}, Direction::forward, precision);
  fftw::execute(plans.acquire(PlanKey::for_arrays(spec, in.data(), out.data())), in.data(), out.data());
  return std::abs(out[0] - std::complex<Real>(static_cast<Real>(n))) < Real{1e-3F};
}

TEST(FftwCases, C42_ThreadsPlanAndDestroyBesideAnotherUserOfFftw) {
  std::atomic<int> wrong = 0;
  for (int run = 0; run < 10; ++run) {
    PlanCache plans({.max_idle = 2});
    PlanCache other_plans({.max_idle = 0});
    std::atomic<int> working = 4;
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&, id] {
        for (std::int64_t n = 8 + id; n < 128; n += 3) {
          wrong += sums_ones<float>(plans, n, Precision::float32) ? 0 : 1;
          wrong += sums_ones<double>(id % 2 == 0 ? plans : other_plans, n, Precision::float64) ? 0 : 1;
          wrong += sums_ones<long double>(plans, n, Precision::long_double) ? 0 : 1;
        }
        --working;
      });
    }
    ShiftedArray<Complex> array(64);
    auto* const theirs = reinterpret_cast<fftw_complex*>(array.data());
    while (working > 0) {
      fftw_plan plan = fftw_plan_dft_1d(64, theirs, theirs, FFTW_FORWARD, FFTW_ESTIMATE);
      wrong += plan == nullptr ? 1 : 0;
      fftw_destroy_plan(plan);
    }
    for (std::thread& thread : threads) thread.join();
    const Stats stats = plans.stats();
    EXPECT_EQ(stats.builds, stats.destroys + stats.live);
    EXPECT_LE(stats.idle, 2U);
    EXPECT_EQ(other_plans.stats().live, 0U);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(FftwCases, C60_ShiftedArraysGetAPlanOfTheirOwn) {
  PlanCache plans;
  const PlanSpec spec = PlanSpec::c2c({64, 64});
  constexpr std::size_t size = 64 * 64;
  for (const std::size_t shift : {0U, 8U}) {
    ShiftedArray<Complex> in(size, shift);
    ShiftedArray<Complex> out(size, shift);
    // A wave of 3 periods down and 5 across is one peak of height 4096.
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < 64; ++j)
        in[64 * i + j] = std::polar(1.0, 2 * M_PI * static_cast<double>(3 * i + 5 * j) / 64);
    }
    const std::vector<Complex> before(in.begin(), in.end());
    fftw::execute(plans.acquire(PlanKey::for_arrays(spec, in.data(), out.data())), in.data(), out.data());
    for (std::size_t k = 0; k < size; ++k)
      ASSERT_NEAR(std::abs(out[k] - (k == 64 * 3 + 5 ? 4096.0 : 0.0)), 0, 1e-9)
          << "shift " << shift << ", element " << k;
    EXPECT_TRUE(std::equal(in.begin(), in.end(), before.begin())) << "shift " << shift;
  }
  const bool alignment_matters = fftw_alignment_of(ShiftedArray<double>(1, 8).data()) != 0;
  EXPECT_EQ(plans.stats().builds, alignment_matters ? 2U : 1U);
}

TEST(FftwCases, C61_PlanningDoesNotTouchTheUsersArrays) {
  PlanCache plans;
  fftw_forget_wisdom();  // with wisdom even FFTW itself would leave the arrays alone
  ShiftedArray<double> in(18);
  ShiftedArray<Complex> out(10);
  std::fill(in.begin(), in.end(), 1.0);
  const PlanSpec spec({.lengths = {18}, .kind = Kind::r2c});
  const auto plan = plans.acquire(PlanKey::for_arrays(spec, in.data(), out.data(), {.flags = FFTW_MEASURE}));
  EXPECT_EQ(std::accumulate(in.begin(), in.end(), 0.0), 18.0);
  fftw::execute(plan, in.data(), out.data());
  EXPECT_DOUBLE_EQ(out[0].real(), 18);
}

TEST(FftwCases, C62_InterleavedRealTransforms) {
  PlanCache plans;
  ShiftedArray<double> in(8);
  const std::vector<double> signals{2, 7, 3, -21, -1, 11, 4, 1};
  std::copy(signals.begin(), signals.end(), in.begin());
  ShiftedArray<Complex> out(6);
  const PlanSpec spec({.lengths = {4},
                       .kind = Kind::r2c,
                       .batch = 2,
                       .input = {.stride = 2, .distance = 1},
                       .output = {.stride = 2, .distance = 1}});
  fftw::execute(plans.acquire(PlanKey::for_arrays(spec, in.data(), out.data())), in.data(), out.data());
  const std::vector<Complex> expected{8, -2, {3, 1}, {-4, 22}, -6, 38};
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(std::abs(out[k] - expected[k]), 0, 1e-12) << k;
}

TEST(FftwCases, C65_WhatFftwCannotDoNeverReachesIt) {
  PlanCache plans;
  const auto request = [&](const PlanParameters& parameters) { (void)plans.acquire(PlanKey(PlanSpec(parameters))); };
  EXPECT_THROW(request({.lengths = {}}), InvalidSpec);
  EXPECT_THROW(request({.lengths = {0}}), InvalidSpec);
  EXPECT_THROW(request({.lengths = {-8}}), InvalidSpec);
  EXPECT_THROW(request({.lengths = {std::int64_t{1} << 32, std::int64_t{1} << 32}}), InvalidSpec);
  EXPECT_THROW(request({.lengths = {8}, .precision = Precision::float16}), InvalidSpec);
  EXPECT_THROW(request({.lengths = {8}, .scale = 2}), InvalidSpec);
  const Stats stats = plans.stats();
  EXPECT_EQ(stats.misses, 0U);
  EXPECT_EQ(stats.builds + stats.build_failures, 0U);
}

TEST(FftwCases, C66_EqualRequestsHitHoweverOftenTheyAreDescribedAnew) {
  PlanCache plans;
  ShiftedArray<Complex> in(32 * 32);
  ShiftedArray<Complex> out(32 * 32);
  for (int call = 0; call < 11; ++call) {
    for (const std::int64_t n : {16, 32}) {
      for (const Direction direction : {Direction::forward, Direction::backward}) {
        const PlanSpec spec = PlanSpec::c2c({n, n}, direction);
        fftw::execute(plans.acquire(PlanKey::for_arrays(spec, in.data(), out.data())), in.data(), out.data());
      }
    }
  }
  EXPECT_EQ(plans.stats().misses, 4U);
  EXPECT_EQ(plans.stats().hits, 40U);
}

TEST(FftwCases, C67_BatchAndAlignmentMakePlansOfTheirOwn) {
  PlanCache plans;
  ShiftedArray<Complex> in(200);
  ShiftedArray<Complex> out(200);
  ShiftedArray<Complex> shifted(200, 8);
  const auto request = [&](std::int64_t batch, Complex* input, unsigned flags) {
    const PlanSpec spec({.lengths = {100}, .batch = batch});
    (void)plans.acquire(PlanKey::for_arrays(spec, input, out.data(), {.flags = flags}));
  };
  request(1, in.data(), FFTW_ESTIMATE);
  request(2, in.data(), FFTW_ESTIMATE);
  request(1, in.data(), FFTW_ESTIMATE | FFTW_UNALIGNED);
  EXPECT_EQ(plans.stats().builds, 3U);
  request(1, shifted.data(), FFTW_ESTIMATE);
  const bool alignment_matters = fftw_alignment_of(reinterpret_cast<double*>(shifted.data())) != 0;
  EXPECT_EQ(plans.stats().builds, alignment_matters ? 4U : 3U);
}

}  // namespace
}  // namespace larder::fft
