// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/curand.hpp>

#include <cstdint>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doubles/simulated_driver.hpp"
#include "doubles/simulated_libraries.hpp"

namespace larder::library_tests {
namespace {

using doubles::SimulatedDriver;
using doubles::SimulatedLibraries;
using library::HandleKey;
using testing::HasSubstr;

constexpr int philox = 161;
constexpr int mtgp32 = 141;
constexpr int mt19937 = 142;
constexpr int sobol32 = 201;

class CurandTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(driver.violations(), testing::IsEmpty()); }

  SimulatedDriver driver;
  SimulatedLibraries libraries{driver, 1000};
  gpu::Context context = driver.primary_context(0);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream stream = driver.create_stream();
  curand::HandleCache cache{{}, {}, curand::HandleFactory(driver, library::curand_calls(SimulatedLibraries::curand()))};
};

TEST_F(CurandTest, AGeneratorStartsWhereItIsToldWhoeverHadItBefore) {
  const HandleKey key(context, philox);
  const auto modes_of = [&](const curand::Start& start) {
    const auto lease = curand::generator_from(cache, key, stream, start);
    const auto modes = libraries.at(*lease).modes;
    libraries.set(*lease, "offset", 1'000'000);  // as generating numbers does
    return modes;
  };
  using Modes = std::map<std::string, long long>;
  EXPECT_EQ(modes_of({.seed = 42, .offset = 7}), (Modes{{"ordering", 101}, {"seed", 42}, {"offset", 7}}));
  EXPECT_EQ(modes_of({}), (Modes{{"ordering", 101}, {"seed", 0}, {"offset", 0}}));
  EXPECT_EQ(modes_of({.seed = 42, .ordering = 104}), (Modes{{"ordering", 104}, {"seed", 42}, {"offset", 0}}));
  EXPECT_EQ(driver.objects_created(), 1U);
}

TEST_F(CurandTest, TypesAreNotMixed) {
  { const auto lease = curand::generator_from(cache, HandleKey(context, philox), stream, {}); }
  const auto lease = curand::generator_from(cache, HandleKey(context, sobol32), stream, {.offset = 5});
  EXPECT_EQ(libraries.at(*lease).type, sobol32);
  EXPECT_EQ(libraries.at(*lease).modes,
            (std::map<std::string, long long>{{"ordering", 201}, {"dimensions", 1}, {"offset", 5}}));
  EXPECT_EQ(driver.objects_created(), 2U);
}

TEST_F(CurandTest, WhatATypeDoesNotTakeIsRefusedBeforeAnythingIsLeased) {
  try {
    (void)curand::generator_from(cache, HandleKey(context, sobol32), stream, {.seed = 42});
    FAIL() << "no error";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("201"), HasSubstr("42")));
  }
  EXPECT_THROW((void)curand::generator_from(cache, HandleKey(context, mtgp32), stream, {.offset = 1}), InvalidArgument);
  EXPECT_THROW((void)curand::generator_from(cache, HandleKey(context, philox), stream, {.dimensions = 2}),
               InvalidArgument);
  const auto lease = curand::generator_from(cache, HandleKey(context, mtgp32), stream, {.seed = 1});
  EXPECT_EQ(libraries.at(*lease).modes, (std::map<std::string, long long>{{"ordering", 101}, {"seed", 1}}));
  EXPECT_EQ(driver.objects_created(), 1U);
}

// As the library does: a generator without offsets goes on where it is when it is given the seed that it has.
TEST_F(CurandTest, TheSameSeedStartsAMersenneTwisterAnew) {
  for (const int type : {mtgp32, mt19937}) {
    const HandleKey key(context, type);
    for (const std::uint64_t seed : {42U, 42U, 0U, 0U}) {
      const auto lease = curand::generator_from(cache, key, stream, {.seed = seed});
      EXPECT_EQ(libraries.at(*lease).position, 0U) << type;
      libraries.generate(*lease, 100);
      EXPECT_EQ(libraries.at(*lease).position, 100U) << type;
    }
  }
}

TEST_F(CurandTest, ALeaseThatIsNotStartedIsAsNewWhoeverHadItBefore) {
  for (const int type : {philox, mt19937, sobol32}) {
    const HandleKey key(context, type);
    {
      const auto lease = type == sobol32 ? curand::generator_from(cache, key, stream, {.dimensions = 3})
                                         : curand::generator_from(cache, key, stream, {.seed = 42, .ordering = 103});
      libraries.generate(*lease, 100);
    }
    const auto lease = cache.acquire(key, stream);
    const auto handle = libraries.at(*lease);
    EXPECT_EQ(handle.position, 0U) << type;
    EXPECT_EQ(handle.modes.at("ordering"), type == sobol32 ? 201 : 101);
    if (type == sobol32) {
      EXPECT_EQ(handle.modes.at("dimensions"), 1);
    } else {
      EXPECT_EQ(handle.modes.at("seed"), 0);
    }
  }
}

TEST_F(CurandTest, AGeneratorThatCannotBeStartedIsDestroyed) {
  libraries.fail_next("seed", 103);
  try {
    (void)curand::generator_from(cache, HandleKey(context, philox), stream, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("seed"), HasSubstr("CURAND_STATUS_TYPE_ERROR")));
  }
  EXPECT_EQ(driver.objects_destroyed(), 1U);
}

}  // namespace
}  // namespace larder::library_tests
