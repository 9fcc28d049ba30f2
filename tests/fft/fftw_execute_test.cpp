// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What plans compute, against the definitions of the transforms; and what execute() refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <larder/error.hpp>
#include <larder/fft/fftw.hpp>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "fft/naive_transform.hpp"
#include "fft/shifted_array.hpp"

namespace larder::fft {
namespace {

using fftw::PlanCache;
using fftw::PlanKey;
using fftw::PlanOptions;
using testing::HasSubstr;
using tests::Exact;
using tests::naive_transform;
using tests::ShiftedArray;

template <class Real>
constexpr Precision precision_of = std::is_same_v<Real, float>    ? Precision::float32
                                   : std::is_same_v<Real, double> ? Precision::float64
                                                                  : Precision::long_double;

bool complex_input(Kind kind) { return kind == Kind::c2c || kind == Kind::c2r; }
bool complex_output(Kind kind) { return kind == Kind::c2c || kind == Kind::r2c; }

/// Elements of a side of an array of reals.
template <class Real>
Exact element(Real* array, bool is_complex, std::size_t offset) {
  return is_complex ? Exact(array[2 * offset], array[2 * offset + 1]) : Exact(array[offset]);
}

template <class Real>
void set_element(Real* array, bool is_complex, std::size_t offset, Exact value) {
  array[is_complex ? 2 * offset : offset] = static_cast<Real>(value.real());
  if (is_complex) array[2 * offset + 1] = static_cast<Real>(value.imag());
}

/// One value per element of the input side, in order; for c2r the transform of real data.
std::vector<Exact> random_input(const PlanSpec& spec) {
  std::mt19937 random(12345);
  std::uniform_real_distribution<float> uniform(-1, 1);  // exact in every precision
  if (spec.kind() == Kind::c2r) {
    const PlanSpec forward({.lengths = {spec.lengths().begin(), spec.lengths().end()},
                            .kind = Kind::r2c,
                            .precision = spec.precision(),
                            .batch = spec.batch()});
    std::vector<float> real(static_cast<std::size_t>(forward.input_extent()));
    for (float& x : real) x = uniform(random);
    return naive_transform(forward, [&](std::size_t offset) { return static_cast<long double>(real[offset]); });
  }
  std::vector<Exact> values(tests::input_elements(spec).size());
  for (Exact& value : values) value = {uniform(random), complex_input(spec.kind()) ? uniform(random) : 0.0F};
  return values;
}

template <class Real>
void run(const Lease<fftw::PlanFactory>& plan, Kind kind, Real* in, Real* out) {
  auto* const complex_in = reinterpret_cast<std::complex<Real>*>(in);
  auto* const complex_out = reinterpret_cast<std::complex<Real>*>(out);
  switch (kind) {
    case Kind::c2c: return fftw::execute(plan, complex_in, complex_out);
    case Kind::r2c: return fftw::execute(plan, in, complex_out);
    case Kind::c2r: return fftw::execute(plan, complex_in, out);
    case Kind::r2r: return fftw::execute(plan, in, out);
  }
}

/// Runs the plan on random data and compares each element of the output, and the gaps between them.
template <class Real>
void expect_right(PlanCache& plans, PlanParameters parameters, const PlanOptions& options = {}) {
  parameters.precision = precision_of<Real>;
  const PlanSpec spec(parameters);
  SCOPED_TRACE(spec.describe());
  const Kind kind = spec.kind();
  const bool in_place = spec.placement() == Placement::in_place;
  const auto input_size = static_cast<std::size_t>(spec.input_extent()) * (complex_input(kind) ? 2 : 1);
  const auto output_size = static_cast<std::size_t>(spec.output_extent()) * (complex_output(kind) ? 2 : 1);
  constexpr Real untouched = -77;
  std::vector<Real> in(in_place ? std::max(input_size, output_size) : input_size, untouched);
  std::vector<Real> out(in_place ? 0 : output_size, untouched);
  Real* const result = in_place ? in.data() : out.data();

  const std::vector<tests::Element> inputs = tests::input_elements(spec);
  const std::vector<Exact> values = random_input(spec);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    set_element(in.data(), complex_input(kind), inputs[i].offset, values[i]);
  // The reference sees the values as rounded to Real.
  const std::vector<Real> original = in;
  const std::vector<Exact> expected =
      naive_transform(spec, [&](std::size_t offset) { return element(original.data(), complex_input(kind), offset); });

  run(plans.acquire(PlanKey::for_arrays(spec, in.data(), result, options)), kind, in.data(), result);

  const std::vector<tests::Element> outputs = tests::output_elements(spec);
  ASSERT_EQ(outputs.size(), expected.size());
  long double largest = 1;
  for (const Exact& value : expected) largest = std::max(largest, std::abs(value));
  const long double tolerance = 100 * static_cast<long double>(std::numeric_limits<Real>::epsilon()) * largest;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Exact actual = element(result, complex_output(kind), outputs[i].offset);
    EXPECT_LE(std::abs(actual - expected[i]), tolerance) << "element " << i;
    set_element(result, complex_output(kind), outputs[i].offset,
                complex_output(kind) ? Exact(untouched, untouched) : Exact(untouched));
  }
  if (in_place) return;
  EXPECT_EQ(out, std::vector<Real>(output_size, untouched)) << "between the elements of the output";
  if (kind != Kind::c2r) {
    EXPECT_EQ(in, original);
  }
}

template <class Real>
class FftwExecute : public testing::Test {
 protected:
  PlanCache plans_;
};

using Reals = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(FftwExecute, Reals);

TYPED_TEST(FftwExecute, ComplexTransformsOfRankOneToFour) {
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{1}, {16}, {15}, {17}, {4, 6}, {1, 7}, {3, 4, 5}, {2, 3, 4, 5}}) {
        expect_right<TypeParam>(this->plans_, {.lengths = lengths, .direction = direction, .placement = placement});
      }
    }
  }
}

TYPED_TEST(FftwExecute, RealToComplexAndBackOfRankOneToFour) {
  for (const Kind kind : {Kind::r2c, Kind::c2r}) {
    for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{1}, {16}, {15}, {4, 6}, {4, 7}, {3, 1}, {3, 4, 5}, {2, 3, 4, 5}}) {
        expect_right<TypeParam>(this->plans_, {.lengths = lengths, .kind = kind, .placement = placement, .batch = 2});
      }
    }
  }
}

TYPED_TEST(FftwExecute, EachRealKind) {
  for (const RealKind kind :
       {RealKind::r2hc, RealKind::hc2r, RealKind::dht, RealKind::redft00, RealKind::redft01, RealKind::redft10,
        RealKind::redft11, RealKind::rodft00, RealKind::rodft01, RealKind::rodft10, RealKind::rodft11}) {
    for (const std::int64_t length : {9, 16}) {
      expect_right<TypeParam>(this->plans_, {.lengths = {length}, .kind = Kind::r2r, .real_kinds = {kind}});
    }
    expect_right<TypeParam>(this->plans_, {.lengths = {5, 6},
                                           .kind = Kind::r2r,
                                           .placement = Placement::in_place,
                                           .batch = 2,
                                           .real_kinds = {kind, RealKind::redft10}});
  }
}

TYPED_TEST(FftwExecute, BatchesOneAfterTheOtherInterleavedAndApart) {
  for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r}) {
    expect_right<TypeParam>(this->plans_, {.lengths = {12}, .kind = kind, .batch = 5});
    expect_right<TypeParam>(this->plans_, {.lengths = {12},
                                           .kind = kind,
                                           .batch = 3,
                                           .input = {.stride = 3, .distance = 1},
                                           .output = {.stride = 3, .distance = 1}});
    expect_right<TypeParam>(
        this->plans_,
        {.lengths = {12}, .kind = kind, .batch = 3, .input = {.distance = 40}, .output = {.distance = 31}});
  }
}

TYPED_TEST(FftwExecute, EmbeddedAndTransposedArrays) {
  for (const Kind kind : {Kind::c2c, Kind::r2c, Kind::c2r}) {
    expect_right<TypeParam>(this->plans_, {.lengths = {3, 6},
                                           .kind = kind,
                                           .batch = 2,
                                           .input = {.embed = {3, 9}, .stride = 2, .distance = 64},
                                           .output = {.embed = {4, 7}}});
    expect_right<TypeParam>(this->plans_, {.lengths = {4, 6}, .kind = kind, .output = {.strides = {1, 4}}});
  }
}

TYPED_TEST(FftwExecute, ThreadsRigorAndUnalignedPlans) {
  expect_right<TypeParam>(this->plans_, {.lengths = {24}, .batch = 4}, {.threads = 2});
  expect_right<TypeParam>(this->plans_, {.lengths = {24}}, {.flags = FFTW_MEASURE});
  expect_right<TypeParam>(this->plans_, {.lengths = {24}}, {.flags = FFTW_ESTIMATE | FFTW_UNALIGNED});
  expect_right<TypeParam>(this->plans_, {.lengths = {24}, .kind = Kind::r2c},
                          {.flags = FFTW_PATIENT, .time_limit = std::chrono::nanoseconds(0)});
}

TEST(FftwExecuteArrays, ComplexToRealKeepsItsInputWhenAskedTo) {
  PlanCache plans;
  ShiftedArray<std::complex<double>> in(9);
  ShiftedArray<double> out(16);
  in[3] = {1, 2};
  const std::vector<std::complex<double>> before(in.begin(), in.end());
  const PlanKey key(PlanSpec({.lengths = {16}, .kind = Kind::c2r}), {.flags = FFTW_ESTIMATE | FFTW_PRESERVE_INPUT});
  fftw::execute(plans.acquire(key), in.data(), out.data());
  EXPECT_EQ(std::vector<std::complex<double>>(in.begin(), in.end()), before);
  EXPECT_DOUBLE_EQ(out[0], 2);  // twice the real part: the element and its mirror image
}

TEST(FftwExecuteArrays, TakesTheComplexTypesOfFftw) {
  PlanCache plans;
  ShiftedArray<double> memory(64);
  auto* const in = reinterpret_cast<fftw_complex*>(memory.data());
  fftw_complex* const out = in + 16;
  for (int i = 0; i < 16; ++i) in[i][0] = 1;
  fftw::execute(plans.acquire(PlanKey(PlanSpec::c2c({16}))), in, out);
  EXPECT_DOUBLE_EQ(out[0][0], 16);

  double* const real = memory.data();
  for (int i = 0; i < 16; ++i) real[i] = 1;
  fftw::execute(plans.acquire(PlanKey(PlanSpec({.lengths = {16}, .kind = Kind::r2c}))), real, out);
  EXPECT_DOUBLE_EQ(out[0][0], 16);
  fftw::execute(plans.acquire(PlanKey(PlanSpec({.lengths = {16}, .kind = Kind::c2r}))), out, real);
  EXPECT_DOUBLE_EQ(real[5], 16);
}

TEST(FftwExecuteArrays, OnePlanRunsInManyThreadsAtOnce) {
  PlanCache plans;
  const PlanKey key(PlanSpec::c2c({256}));
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < wrong.size(); ++id) {
    threads.emplace_back([&, id] {
      ShiftedArray<std::complex<double>> in(256);
      ShiftedArray<std::complex<double>> out(256);
      in[0] = static_cast<double>(id + 1);
      for (int round = 0; round < 200; ++round) {
        fftw::execute(plans.acquire(key), in.data(), out.data());
        for (const auto& value : out) wrong[id] += value != std::complex<double>(static_cast<double>(id + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
  EXPECT_EQ(plans.stats().builds, 1U);
}

/// What execute() says about these arrays; empty when it runs.
template <class In, class Out>
std::string refusal(const Lease<fftw::PlanFactory>& plan, In* in, Out* out) {
  try {
    fftw::execute(plan, in, out);
    return "";
  } catch (const InvalidArgument& refused) {
    return refused.what();
  }
}

class FftwExecuteRefusal : public testing::Test {
 protected:
  PlanCache plans_;
  ShiftedArray<std::complex<double>> in_{64};
  ShiftedArray<std::complex<double>> out_{64};
};

TEST_F(FftwExecuteRefusal, EmptyLease) {
  EXPECT_THAT(refusal({}, in_.data(), out_.data()), HasSubstr("the lease is empty"));
}

TEST_F(FftwExecuteRefusal, OneArrayForAPlanOfTwo) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({32})));
  in_[0] = 5;
  EXPECT_THAT(refusal(plan, in_.data(), in_.data()), HasSubstr("input and output are one array"));
  EXPECT_EQ(in_[0], 5.0);
  EXPECT_EQ(in_[1], 0.0);
  EXPECT_EQ(refusal(plan, in_.data(), out_.data()), "");
}

TEST_F(FftwExecuteRefusal, TwoArraysForAnInPlacePlan) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec({.lengths = {32}, .placement = Placement::in_place})));
  EXPECT_THAT(refusal(plan, in_.data(), out_.data()), HasSubstr("input and output are different arrays"));
  EXPECT_EQ(refusal(plan, in_.data(), in_.data()), "");
}

TEST_F(FftwExecuteRefusal, AnotherAlignment) {
  if (fftw_alignment_of(reinterpret_cast<double*>(in_.data()) + 1) == 0)
    GTEST_SKIP() << "this FFTW was built without SIMD: every alignment is alike";
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({32})));
  ShiftedArray<std::complex<double>> shifted(64, 8);
  EXPECT_THAT(refusal(plan, shifted.data(), out_.data()), HasSubstr("addresses are 8 and 0 bytes past the alignment"));
  EXPECT_THAT(refusal(plan, in_.data(), shifted.data()), HasSubstr("addresses are 0 and 8 bytes past the alignment"));
  ShiftedArray<std::complex<double>> same_class(64, 16);
  EXPECT_EQ(refusal(plan, same_class.data(), out_.data()), "");
}

TEST_F(FftwExecuteRefusal, NotForAPlanOfAnyAlignment) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({32}), {.flags = FFTW_ESTIMATE | FFTW_UNALIGNED}));
  ShiftedArray<std::complex<double>> shifted(64, 8);
  EXPECT_EQ(refusal(plan, shifted.data(), out_.data()), "");
}

TEST_F(FftwExecuteRefusal, AnotherKind) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec({.lengths = {32}, .kind = Kind::r2c})));
  EXPECT_THAT(refusal(plan, in_.data(), out_.data()), HasSubstr("the arrays are for c2c; the plan is r2c 32"));
}

TEST_F(FftwExecuteRefusal, AnotherPrecision) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({32}, Direction::forward, Precision::float32)));
  EXPECT_THAT(refusal(plan, in_.data(), out_.data()),
              HasSubstr("the arrays are float64; the plan is c2c 32 forward float32"));
}

TEST_F(FftwExecuteRefusal, NullArrays) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({32})));
  std::complex<double>* const none = nullptr;
  EXPECT_THAT(refusal(plan, none, out_.data()), HasSubstr("an array is null"));
  EXPECT_THAT(refusal(plan, in_.data(), none), HasSubstr("an array is null"));
}

}  // namespace
}  // namespace larder::fft
