// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C40: one cuFFT plan in the hands of two streams. Through larder every result is right; beside it, the same plan used
// without order, which shows what would happen.
#include <cufft.h>

#include <cstdio>

#include <gtest/gtest.h>

#include <larder/fft/cufft.hpp>

#include "device/device_world.hpp"

namespace larder::device_tests {
namespace {

constexpr int trials = 100;
constexpr double right = 1e-5;

class CufftOrderTest : public DeviceTest, public testing::WithParamInterface<int> {
 protected:
  struct Side {
    Side(int n, unsigned seed)
        : in(random_signal(static_cast<std::size_t>(n), seed)), out(static_cast<std::size_t>(n)) {}
    DeviceArray<Complex> in;
    DeviceArray<Complex> out;
    DeviceStream stream;
    std::vector<Complex> expected;
    [[nodiscard]] bool is_wrong() const { return relative_error(out.to_host(), expected) > right; }
  };

  static void transform(int plan, const Side& side) {
    ASSERT_EQ(cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(side.in.data()),
                           reinterpret_cast<cufftComplex*>(side.out.data()), CUFFT_FORWARD),
              CUFFT_SUCCESS);
  }
};

TEST_P(CufftOrderTest, NoResultIsWrongWhenTwoStreamsUseOnePlan) {
  const int n = GetParam();
  Side a(n, 1);
  Side b(n, 2);
  fft::cufft::PlanCache plans{{.max_idle = 1}};  // so that both streams have to take the same plan
  const fft::cufft::PlanKey key(fft::PlanSpec::c2c({n}, fft::Direction::forward, fft::Precision::float32));
  for (Side* const side : {&a, &b}) {
    const auto plan = plans.acquire(key, side->stream);
    transform(*plan, *side);
    side->stream.synchronize();
    side->expected = side->out.to_host();
  }

  int wrong = 0;
  for (int trial = 0; trial < trials; ++trial) {
    for (Side* const side : {&a, &b}) {
      const auto plan = plans.acquire(key, side->stream);
      transform(*plan, *side);
    }
    a.stream.synchronize();
    b.stream.synchronize();
    if (a.is_wrong() || b.is_wrong()) ++wrong;
    a.out.clear();
    b.out.clear();
  }
  const Stats stats = plans.stats();

  int plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, n, CUFFT_C2C, 1), CUFFT_SUCCESS);
  int wrong_without_order = 0;
  for (int trial = 0; trial < trials; ++trial) {
    for (Side* const side : {&a, &b}) {
      ASSERT_EQ(cufftSetStream(plan, side->stream), CUFFT_SUCCESS);
      transform(plan, *side);
    }
    a.stream.synchronize();
    b.stream.synchronize();
    if (a.is_wrong() || b.is_wrong()) ++wrong_without_order;
    a.out.clear();
    b.out.clear();
  }
  cufftDestroy(plan);

  std::printf("n = %-8d wrong of %d: %d through larder, %d with one plan and no order\n", n, trials, wrong,
              wrong_without_order);
  RecordProperty("wrong", wrong);
  RecordProperty("wrong_without_order", wrong_without_order);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stats.builds, 1U);
}

INSTANTIATE_TEST_SUITE_P(Lengths, CufftOrderTest, testing::Values(1000003, 1 << 22, 1999966, 1006005));

}  // namespace
}  // namespace larder::device_tests
