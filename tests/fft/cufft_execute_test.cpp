// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// execute: the function for each kind and precision, and the arrays that it refuses.
#include <cstdint>
#include <string>

#include <larder/error.hpp>

#include "fft/cufft_world.hpp"

namespace larder::fft::cufft {
namespace {

using testing::HasSubstr;

class CufftExecuteTest : public CufftTest {
 protected:
  Lease<PlanFactory> plan(Kind kind, Precision precision, Placement placement = Placement::out_of_place) {
    PlanParameters p;
    p.lengths = {8, 8};
    p.kind = kind;
    p.precision = precision;
    p.placement = placement;
    p.context = context;
    return cache->acquire(PlanKey(PlanSpec(p)), s1);
  }
  template <class Element>
  static Element* of(std::uintptr_t number) {
    return reinterpret_cast<Element*>(number << 12U);
  }
  template <class Run>
  static std::string refusal(Run&& run) {
    try {
      run();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(CufftExecuteTest, CallsTheFunctionOfKindAndPrecision) {
  execute(plan(Kind::c2c, Precision::float32), of<std::complex<float>>(1), of<std::complex<float>>(2),
          Direction::forward);
  EXPECT_EQ(cufft.history().back(), "cufftExecC2C");
  execute(plan(Kind::r2c, Precision::float32), of<float>(1), of<std::complex<float>>(2));
  EXPECT_EQ(cufft.history().back(), "cufftExecR2C");
  execute(plan(Kind::c2r, Precision::float32), of<std::complex<float>>(1), of<float>(2));
  EXPECT_EQ(cufft.history().back(), "cufftExecC2R");
  execute(plan(Kind::c2c, Precision::float64), of<std::complex<double>>(1), of<std::complex<double>>(2),
          Direction::backward);
  EXPECT_EQ(cufft.history().back(), "cufftExecZ2Z");
  execute(plan(Kind::r2c, Precision::float64), of<double>(1), of<std::complex<double>>(2));
  EXPECT_EQ(cufft.history().back(), "cufftExecD2Z");
  execute(plan(Kind::c2r, Precision::float64), of<std::complex<double>>(1), of<double>(2));
  EXPECT_EQ(cufft.history().back(), "cufftExecZ2D");
  execute_untyped(plan(Kind::c2c, Precision::float16), of<void>(1), of<void>(2), Direction::backward);
  EXPECT_EQ(cufft.history().back(), "cufftXtExec");
}

TEST_F(CufftExecuteTest, OnePlanRunsInBothDirectionsAndPlacements) {
  const auto both = plan(Kind::c2c, Precision::float32);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    execute(both, array(1), array(1), direction);
    execute(both, array(1), array(2), direction);
  }
  EXPECT_EQ(cufft.directions(), (std::vector<int>{-1, -1, 1, 1}));
}

TEST_F(CufftExecuteTest, RefusesArraysOfAnotherKindOrPrecision) {
  const auto real = plan(Kind::r2c, Precision::float32);
  EXPECT_THAT(refusal([&] { execute(real, array(1), array(2), Direction::forward); }),
              HasSubstr("the arrays are for c2c; the plan is r2c 8x8"));
  EXPECT_THAT(refusal([&] { execute(real, of<std::complex<float>>(1), of<float>(2)); }),
              HasSubstr("the arrays are for c2r"));
  EXPECT_THAT(refusal([&] { execute(real, of<double>(1), of<std::complex<double>>(2)); }),
              HasSubstr("the arrays are float64"));
  const auto half = plan(Kind::c2c, Precision::float16);
  EXPECT_THAT(refusal([&] { execute(half, array(1), array(2), Direction::forward); }),
              HasSubstr("the arrays are float32"));
  EXPECT_EQ(cufft.directions().size(), 0U);
}

TEST_F(CufftExecuteTest, RefusesOneArrayForALayoutOfTwo) {
  const auto apart = plan(Kind::r2c, Precision::float32);
  EXPECT_THAT(refusal([&] { execute(apart, of<float>(1), of<std::complex<float>>(1)); }), HasSubstr("one array"));
  EXPECT_THAT(refusal([&] { execute_untyped(apart, of<void>(1), of<void>(1)); }), HasSubstr("one array"));
  execute(plan(Kind::r2c, Precision::float32, Placement::in_place), of<float>(1), of<std::complex<float>>(1));
}

TEST_F(CufftExecuteTest, RefusesNothing) {
  const auto some = plan(Kind::c2c, Precision::float32);
  EXPECT_THAT(refusal([&] { execute(some, array(0), array(2), Direction::forward); }), HasSubstr("null"));
  EXPECT_THAT(refusal([&] { execute(some, array(1), array(0), Direction::forward); }), HasSubstr("null"));
  const Lease<PlanFactory> empty;
  EXPECT_THAT(refusal([&] { execute(empty, array(1), array(2), Direction::forward); }), HasSubstr("empty"));
  EXPECT_THAT(refusal([&] { execute_untyped(empty, of<void>(1), of<void>(2)); }), HasSubstr("empty"));
}

TEST_F(CufftExecuteTest, AFailureIsNamed) {
  cufft.fail("cufftExecC2C", 6);
  try {
    execute(plan(Kind::c2c, Precision::float32), array(1), array(2), Direction::forward);
    ADD_FAILURE() << "executed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cufftExecC2C failed: CUFFT_EXEC_FAILED (6); the plan is c2c 8x8"));
  }
}

TEST_F(CufftExecuteTest, RunsInThePlansContextWhateverIsCurrent) {
  const auto here = plan(Kind::c2c, Precision::float32);
  const gpu::CurrentContext elsewhere(driver, other);
  execute(here, array(1), array(2), Direction::forward);
  EXPECT_EQ(driver.current(), other);
}

}  // namespace
}  // namespace larder::fft::cufft
