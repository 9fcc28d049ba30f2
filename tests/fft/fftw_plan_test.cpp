// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FFTW plan keys and the making of plans: what is in the key, what is refused, what FFTW's planner is left like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <larder/error.hpp>
#include <larder/fft/fftw.hpp>
#include <new>
#include <string>
#include <vector>

#include "fft/sanitized.hpp"
#include "fft/shifted_array.hpp"

namespace larder::fft {
namespace {

using fftw::PlanCache;
using fftw::PlanFactory;
using fftw::PlanKey;
using fftw::PlanOptions;
using std::chrono::nanoseconds;
using testing::HasSubstr;
using tests::ShiftedArray;

std::string complaint(const PlanParameters& parameters, const PlanOptions& options = {}) {
  try {
    const PlanKey key(PlanSpec(parameters), options);
    return "";
  } catch (const InvalidSpec& refusal) {
    return refusal.what();
  }
}

TEST(FftwPlanKey, EachOptionMakesAnotherKey) {
  const PlanSpec spec = PlanSpec::c2c({64});
  ShiftedArray<std::complex<double>> aligned(64);
  ShiftedArray<std::complex<double>> shifted(64, 8);
  ShiftedArray<std::complex<double>> out(64);
  const std::vector<PlanKey> keys{
      PlanKey(spec),
      PlanKey(PlanSpec::c2c({65})),
      PlanKey(spec, {.flags = FFTW_MEASURE}),
      PlanKey(spec, {.flags = FFTW_PATIENT}),
      PlanKey(spec, {.flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT}),
      PlanKey(spec, {.flags = FFTW_ESTIMATE | FFTW_DESTROY_INPUT}),
      PlanKey(spec, {.flags = FFTW_ESTIMATE | FFTW_UNALIGNED}),
      PlanKey(spec, {.flags = FFTW_ESTIMATE | FFTW_WISDOM_ONLY}),
      PlanKey(spec, {.threads = 2}),
      PlanKey(spec, {.time_limit = nanoseconds(0)}),
      PlanKey(spec, {.time_limit = nanoseconds(1)}),
      PlanKey(spec, {.time_limit = nanoseconds::max()}),
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(keys[i], PlanKey(keys[i]));
    for (std::size_t j = i + 1; j < keys.size(); ++j) {
      EXPECT_FALSE(keys[i] == keys[j]) << i << " and " << j << ": " << keys[i].describe();
      EXPECT_NE(keys[i].hash(), keys[j].hash()) << i << " and " << j;
      EXPECT_NE(keys[i].describe(), keys[j].describe()) << i << " and " << j;
    }
  }
}

TEST(FftwPlanKey, TakesTheAlignmentOfTheArrays) {
  if (fftw_alignment_of(ShiftedArray<double>(1, 8).data()) == 0)
    GTEST_SKIP() << "this FFTW was built without SIMD: every alignment is alike";
  const PlanSpec spec = PlanSpec::c2c({64});
  ShiftedArray<std::complex<double>> aligned(64);
  ShiftedArray<std::complex<double>> same_class(64, 16);
  ShiftedArray<std::complex<double>> shifted(64, 8);
  EXPECT_EQ(PlanKey::for_arrays(spec, aligned.data(), same_class.data()), PlanKey(spec));
  const PlanKey input_shifted = PlanKey::for_arrays(spec, shifted.data(), aligned.data());
  const PlanKey output_shifted = PlanKey::for_arrays(spec, aligned.data(), shifted.data());
  EXPECT_EQ(input_shifted.input_alignment(), 8);
  EXPECT_EQ(input_shifted.output_alignment(), 0);
  EXPECT_FALSE(input_shifted == PlanKey(spec));
  EXPECT_FALSE(output_shifted == PlanKey(spec));
  EXPECT_FALSE(output_shifted == input_shifted);
  EXPECT_NE(output_shifted.hash(), input_shifted.hash());
}

TEST(FftwPlanKey, UnalignedPlansHaveOneKeyForAnyArrays) {
  const PlanSpec spec = PlanSpec::c2c({64});
  const PlanOptions options{.flags = FFTW_ESTIMATE | FFTW_UNALIGNED};
  ShiftedArray<std::complex<double>> aligned(64);
  ShiftedArray<std::complex<double>> shifted(64, 8);
  EXPECT_EQ(PlanKey::for_arrays(spec, aligned.data(), shifted.data(), options), PlanKey(spec, options));
}

TEST(FftwPlanKey, RefusesArraysThatAreNotPlacedAsTheSpecSays) {
  ShiftedArray<std::complex<double>> in(8);
  ShiftedArray<std::complex<double>> out(8);
  EXPECT_THROW(PlanKey::for_arrays(PlanSpec::c2c({8}), in.data(), in.data()), InvalidSpec);
  const PlanSpec in_place({.lengths = {8}, .placement = Placement::in_place});
  EXPECT_THROW(PlanKey::for_arrays(in_place, in.data(), out.data()), InvalidSpec);
  EXPECT_NO_THROW(PlanKey::for_arrays(in_place, in.data(), in.data()));
}

TEST(FftwPlanKey, RefusesWhatFftwCannotDo) {
  EXPECT_THAT(complaint({.lengths = {8}, .precision = Precision::float16}), HasSubstr("no half precision"));
  EXPECT_THAT(complaint({.lengths = {8}, .scale = 0.125}), HasSubstr("scale is 0.125"));
  EXPECT_THAT(complaint({.lengths = {8}, .context = {nullptr, 1}}), HasSubstr("no device context"));
  EXPECT_THAT(complaint({.lengths = {8}}, {.flags = 1U << 31}), HasSubstr("flags 2147483648"));
  EXPECT_THAT(complaint({.lengths = {8}}, {.flags = FFTW_PRESERVE_INPUT | FFTW_DESTROY_INPUT}),
              HasSubstr("both to preserve and to destroy"));
  EXPECT_THAT(complaint({.lengths = {8}}, {.threads = 0}), HasSubstr("threads is 0"));
  EXPECT_THAT(complaint({.lengths = {8}}, {.threads = -2}), HasSubstr("threads is -2"));
  EXPECT_THAT(complaint({.lengths = {8}}, {.time_limit = nanoseconds(-5)}), HasSubstr("time_limit is -5 ns"));
}

TEST(FftwPlanKey, DescribesItselfInWords) {
  EXPECT_EQ(PlanKey(PlanSpec::c2c({8})).describe(),
            "c2c 8 forward float64 out of place strides 1 -> 1 estimate alignment 0 -> 0");
  EXPECT_EQ(PlanKey(PlanSpec::c2c({8}), {.flags = FFTW_MEASURE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT,
                                         .threads = 3,
                                         .time_limit = std::chrono::milliseconds(2)})
                .describe(),
            "c2c 8 forward float64 out of place strides 1 -> 1 measure preserve_input unaligned threads 3 time limit "
            "2000000 ns");
}

TEST(FftwPlanFactory, IsADomainOfItsOwnSharedByAllCaches) {
  EXPECT_EQ(&PlanFactory().domain(), &PlanFactory().domain());
}

TEST(FftwPlanFactory, EstimatesBytesFromTheLengths) {
  PlanCache plans;
  {
    const auto plan = plans.acquire(PlanKey(PlanSpec::c2c({1024})));
    EXPECT_EQ(plans.stats().leased_bytes, 4096U + 16 * 1024);
  }
  EXPECT_EQ(plans.stats().idle_bytes, 4096U + 16 * 1024);
  (void)plans.acquire(PlanKey(PlanSpec::c2c({64, 32}, Direction::forward, Precision::float32)));
  EXPECT_EQ(plans.stats().idle_bytes, 4096U + 16 * 1024 + 4096 + 16 * (64 + 32));
}

TEST(FftwPlanFactory, KeepsSixtyFourIdlePlansUnlessTold) {
  PlanCache plans;
  for (std::int64_t n = 1; n <= 70; ++n) (void)plans.acquire(PlanKey(PlanSpec::c2c({n})));
  EXPECT_EQ(plans.stats().idle, 64U);
}

TEST(FftwPlanFactory, APlanThatFftwDoesNotHaveIsAnErrorThatNamesIt) {
  PlanCache plans;
  // FFTW cannot preserve the input of a c2r of several dimensions.
  const PlanKey key(PlanSpec({.lengths = {8, 8}, .kind = Kind::c2r}), {.flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT});
  try {
    (void)plans.acquire(key);
    ADD_FAILURE() << "FFTW made the plan";
  } catch (const BuildFailed& failure) {
    EXPECT_EQ(failure.backend(), "fftw");
    EXPECT_EQ(failure.key(), key.describe());
    EXPECT_THAT(failure.what(), HasSubstr("no such plan"));
  }
  EXPECT_EQ(plans.stats().build_failures, 1U);
  EXPECT_EQ(plans.stats().live, 0U);
  EXPECT_TRUE(plans.acquire(PlanKey(PlanSpec({.lengths = {8, 8}, .kind = Kind::c2r}))));
}

TEST(FftwPlanFactory, ArraysBeyondMemoryAreAnErrorAndKeepNothing) {
  if (tests::sanitized) GTEST_SKIP() << "the sanitizer's allocator ends the process instead of returning null";
  PlanCache plans;
  EXPECT_THROW((void)plans.acquire(PlanKey(PlanSpec::c2c({std::int64_t{1} << 58}))), std::bad_alloc);
  EXPECT_EQ(plans.stats().live, 0U);
  EXPECT_TRUE(plans.acquire(PlanKey(PlanSpec::c2c({8}))));
}

TEST(FftwPlanFactory, PutsTheProcessWideNumberOfThreadsBack) {
  PlanCache plans;
  fftw_plan_with_nthreads(3);
  (void)plans.acquire(PlanKey(PlanSpec::c2c({48}), {.threads = 2}));
  EXPECT_EQ(fftw_planner_nthreads(), 3);
  EXPECT_THROW((void)plans.acquire(PlanKey(PlanSpec({.lengths = {8, 8}, .kind = Kind::c2r}),
                                           {.flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT, .threads = 2})),
               BuildFailed);
  EXPECT_EQ(fftw_planner_nthreads(), 3);
  fftw_plan_with_nthreads(1);
}

}  // namespace
}  // namespace larder::fft
