// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuRAND's own library, where the loader finds it. Its host generators work without a GPU, so what larder relies on when it
// starts a generator anew is tried on them.
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/gpu/dynamic_library.hpp"
#include "src/library/curand_calls.hpp"

namespace larder::library_tests {
namespace {

constexpr int type_error = 103;
constexpr int sobol32 = 201;

/// The library with host generators in the place of those of the device.
struct HostCurand {
  HostCurand() : functions(library::load_curand()) {
    const gpu::DynamicLibrary file("cuRAND", "LARDER_CURAND_LIBRARY", {"libcurand.so.10"});
    file.bind(functions.create, "curandCreateGeneratorHost");
    file.bind(generate, "curandGenerate");
  }
  library::Curand functions{};
  int (*generate)(void* generator, unsigned* numbers, std::size_t count) = nullptr;
};

class RealCurandTest : public testing::TestWithParam<int> {
 protected:
  using Numbers = std::vector<unsigned>;

  void SetUp() override {
    try {
      curand.emplace();
    } catch (const BackendUnavailable& why) {
      GTEST_SKIP() << why.what();
    }
    calls.emplace(curand->functions);
    ASSERT_EQ(calls->create(&generator, GetParam()), 0);
  }
  void TearDown() override {
    if (generator != nullptr) {
      EXPECT_EQ(calls->destroy(generator), 0);
    }
  }
  [[nodiscard]] Numbers numbers() {
    Numbers made(64);
    EXPECT_EQ(curand->generate(generator, made.data(), made.size()), 0);
    return made;
  }
  [[nodiscard]] Numbers from(const larder::curand::Start& start) {
    const auto started = calls->start(generator, GetParam(), start);
    EXPECT_EQ(started.result, 0) << started.what << ": " << calls->name_of(started.result);
    return numbers();
  }

  std::optional<HostCurand> curand;
  std::optional<library::CurandCalls> calls;
  void* generator = nullptr;
};

TEST_P(RealCurandTest, IsAsNewAfterAReset) {
  const Numbers fresh = numbers();
  const Numbers next = numbers();
  EXPECT_NE(fresh, next);
  ASSERT_EQ(calls->reset(generator, GetParam()), 0);
  EXPECT_EQ(numbers(), fresh);
  EXPECT_EQ(numbers(), next);
}

TEST_P(RealCurandTest, EqualStartsGiveEqualNumbersWhateverCameBefore) {
  larder::curand::Start start;
  if (GetParam() < 200) {
    start.seed = 42;
  } else {
    start.offset = 7;
  }
  const Numbers first = from(start);
  (void)numbers();
  EXPECT_EQ(from(start), first);
  EXPECT_NE(from({}), first);
  EXPECT_EQ(from(start), first);
}

// But for MT19937, which takes 5 s to start on a host: below.
INSTANTIATE_TEST_SUITE_P(EveryType, RealCurandTest, testing::Values(100, 101, 121, 141, 161, 200, sobol32, 202));

class RealMersenneTwisterTest : public RealCurandTest {};

TEST_P(RealMersenneTwisterTest, GoesOnWhenItIsGivenTheSeedThatItHasAndIsAsNewAfterAReset) {
  const Numbers fresh = numbers();
  ASSERT_EQ(curand->functions.set_seed(generator, 0), 0);
  EXPECT_NE(numbers(), fresh);
  EXPECT_EQ(curand->functions.set_offset(generator, 0), type_error);
  ASSERT_EQ(calls->reset(generator, GetParam()), 0);
  EXPECT_EQ(numbers(), fresh);
}

INSTANTIATE_TEST_SUITE_P(BothTypes, RealMersenneTwisterTest, testing::Values(141, 142));

class RealSobolTest : public RealCurandTest {};

TEST_P(RealSobolTest, DimensionsDoNotStick) {
  const Numbers fresh = numbers();
  EXPECT_NE(from({.dimensions = 4}), fresh);
  EXPECT_EQ(from({}), fresh);
}

INSTANTIATE_TEST_SUITE_P(OneType, RealSobolTest, testing::Values(sobol32));

}  // namespace
}  // namespace larder::library_tests
