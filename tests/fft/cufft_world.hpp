// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CufftTest: a cache of cuFFT plans over the simulated driver and library. After each test no wrong use was noticed, and
// nothing is left of plans and work areas.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/fft/cufft.hpp>
#include <larder/gpu/current_context.hpp>

#include "doubles/simulated_cufft.hpp"
#include "doubles/simulated_driver.hpp"

namespace larder::fft::cufft {

using Complex = std::complex<float>;

/// Never read: simulated plans look at no array.
inline Complex* array(std::uintptr_t number = 1) { return reinterpret_cast<Complex*>(number << 12U); }

// Lengths and what they need in the simulated library.
inline constexpr std::int64_t no_area = 64;
inline constexpr std::int64_t small_area = 5003;  // 120072 bytes
inline constexpr std::int64_t large_area = 50021;

class CufftTest : public testing::Test {
 protected:
  void TearDown() override {
    cache.reset();
    areas->release_captured();
    areas.reset();
    EXPECT_THAT(driver.violations(), testing::IsEmpty());
    EXPECT_EQ(cufft.open(), abandoned);
    EXPECT_EQ(driver.allocations(0), 0U);
    EXPECT_EQ(driver.allocations(1), 0U);
  }

  [[nodiscard]] PlanFactory factory() const { return {driver, cufft.library(), areas}; }
  PlanCache& make(const Budget& budget = {}, const Options& options = {}) {
    return cache.emplace(budget, options, factory());
  }
  [[nodiscard]] static PlanSpec spec(std::int64_t length, const gpu::Context& in) {
    return PlanSpec({.lengths = {length}, .precision = Precision::float32, .context = in});
  }
  [[nodiscard]] static PlanKey key(std::int64_t length, const gpu::Context& in) { return PlanKey(spec(length, in)); }
  [[nodiscard]] PlanKey key(std::int64_t length) const { return key(length, context); }

  static void run(const Lease<PlanFactory>& plan) { execute(plan, array(1), array(2), Direction::forward); }
  /// One whole use, whose work is still pending afterwards.
  void use(std::int64_t length, gpu::Stream stream) {
    const auto plan = cache->acquire(key(length), stream);
    run(plan);
  }

  mutable doubles::SimulatedDriver driver{2};
  doubles::SimulatedCufft cufft{driver};
  gpu::Context context = driver.primary_context(0);
  gpu::Context other = driver.primary_context(1);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream s1 = driver.create_stream();
  gpu::Stream s2 = driver.create_stream();
  std::shared_ptr<gpu::WorkAreas> areas = std::make_shared<gpu::WorkAreas>(driver);
  std::optional<PlanCache> cache{std::in_place, Budget{}, Options{}, factory()};
  std::uint64_t abandoned = 0;  // cufftHandles that a test loses on purpose
};

}  // namespace larder::fft::cufft
