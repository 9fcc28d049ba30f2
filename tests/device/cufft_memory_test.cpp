// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory that plans hold, and what happens when there is none left.
#include <cufft.h>

#include <cstdio>
#include <optional>

#include <gtest/gtest.h>

#include <larder/fft/cufft.hpp>

#include "device/device_world.hpp"

namespace larder::device_tests {
namespace {

constexpr double mib = 1 << 20;

/// So that what the leak checker of compute-sanitizer lists is a leak: work areas are kept for the life of the process.
class NoAreasAtTheEnd : public testing::Environment {
 public:
  void TearDown() override {
    try {
      fft::cufft::PlanFactory().work_areas().trim();
      fft::cufft::PlanFactory().work_areas().release_captured();
    } catch (const BackendUnavailable&) {
      // Then all tests were skipped.
    }
  }
};
const testing::Environment* const no_areas_at_the_end = testing::AddGlobalTestEnvironment(new NoAreasAtTheEnd);

fft::cufft::PlanKey complex_of(std::int64_t n) {
  return fft::cufft::PlanKey(fft::PlanSpec::c2c({n}, fft::Direction::forward, fft::Precision::float32));
}

class CufftMemoryTest : public DeviceTest {
 protected:
  /// Runs 600 lengths from 100000 on, one after the other, and gives the device memory that this took.
  [[nodiscard]] static double use_600_lengths(fft::cufft::PlanCache& plans) {
    const DeviceArray<Complex> data(100600);
    const DeviceStream stream;
    const std::size_t before = device_memory_used();
    for (std::int64_t n = 100000; n < 100600; ++n) {
      const auto plan = plans.acquire(complex_of(n), stream);
      EXPECT_EQ(cufftExecC2C(*plan, reinterpret_cast<cufftComplex*>(data.data()),
                             reinterpret_cast<cufftComplex*>(data.data()), CUFFT_FORWARD),
                CUFFT_SUCCESS);
    }
    stream.synchronize();
    return static_cast<double>(device_memory_used() - before) / mib;
  }
};

TEST_F(CufftMemoryTest, SixHundredIdlePlansShareOneWorkArea) {
  fft::cufft::PlanCache plans{{.max_idle = 600}};
  const double used = use_600_lengths(plans);
  const Stats stats = plans.stats();
  std::printf("600 plans near n = 100000: %.0f MiB of device memory, %.0f MiB by our account, %zu idle\n", used,
              static_cast<double>(stats.idle_bytes) / mib, stats.idle);
  RecordProperty("mib", static_cast<int>(used));
  EXPECT_EQ(stats.idle, 600U);
  EXPECT_LE(used, 2.1 * 1024);
}

TEST_F(CufftMemoryTest, AByteBudgetIsKept) {
  fft::cufft::PlanCache plans{{.max_idle = 600, .max_idle_bytes = std::size_t{256} << 20}};
  gpu::WorkAreas& areas = plans.factory().work_areas();
  areas.release_captured();  // of other tests, whose graphs are gone
  areas.trim();
  const double used = use_600_lengths(plans);
  const Stats stats = plans.stats();
  const double area = static_cast<double>(areas.bytes()) / mib;
  std::printf("the same with max_idle_bytes = 256 MiB: %.0f MiB of device memory, %.0f MiB of that the work area,\n",
              used, area);
  std::printf("    %.0f MiB by our account, %zu idle\n", static_cast<double>(stats.idle_bytes) / mib, stats.idle);
  RecordProperty("mib", static_cast<int>(used));
  EXPECT_LE(used, 256);
}

TEST_F(CufftMemoryTest, AFullCardGivesUpIdlePlansOnceAndTheNewPlanIsMade) {
  fft::cufft::PlanCache plans{{.max_idle = 100}};
  const DeviceStream stream;
  // Lengths without small factors: each plan holds about 29 MiB of tables.
  for (std::int64_t n = 1000003; n < 1000003 + 40; n += 2) (void)plans.acquire(complex_of(n), stream);
  stream.synchronize();
  const std::size_t idle = plans.stats().idle;
  ASSERT_EQ(idle, 20U);
  std::optional<FullCard> full(std::in_place);
  {
    const auto plan = plans.acquire(complex_of(2000003), stream);
    EXPECT_TRUE(plan);
  }
  stream.synchronize();
  const Stats stats = plans.stats();
  full.reset();
  std::printf("full card: %zu plans were idle, %llu given up, %llu builds failed, then the plan was made\n", idle,
              static_cast<unsigned long long>(stats.evictions[static_cast<std::size_t>(EvictionCause::pressure)]),
              static_cast<unsigned long long>(stats.build_failures));
  EXPECT_EQ(stats.builds, 21U);
  EXPECT_EQ(stats.build_failures, 1U);
  EXPECT_EQ(stats.evictions[static_cast<std::size_t>(EvictionCause::pressure)], 20U);
}

}  // namespace
}  // namespace larder::device_tests
