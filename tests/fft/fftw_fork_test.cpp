// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork(): FFTW's worker threads stay in the parent, and a plan that waits for them never ends.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <complex>
#include <functional>
#include <larder/error.hpp>
#include <larder/fft/fftw.hpp>

#include "fft/shifted_array.hpp"

namespace larder::fft {
namespace {

using fftw::PlanCache;
using fftw::PlanKey;
using tests::ShiftedArray;

enum Exit : int { right = 0, wrong = 1, threw = 2 };

/// Runs `child` in a forked process; what it returned, or minus the signal that ended it. 60 s end it with SIGALRM.
int run_in_child(const std::function<Exit()>& child) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    Exit result = threw;
    try {
      result = child();
    } catch (...) {
    }
    _exit(result);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1000;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

class FftwFork : public testing::Test {
 protected:
  static constexpr std::int64_t length = 1 << 16;

  [[nodiscard]] bool computes_right(const Lease<fftw::PlanFactory>& plan) {
    in_[0] = 3;
    fftw::execute(plan, in_.data(), out_.data());
    for (const auto& value : out_) {
      if (std::abs(value - 3.0) > 1e-9) return false;
    }
    return true;
  }

  PlanCache plans_;
  PlanKey key_{PlanSpec::c2c({length}), {.threads = 2}};
  ShiftedArray<std::complex<double>> in_{length};
  ShiftedArray<std::complex<double>> out_{length};
};

using FftwForkCases = FftwFork;

TEST_F(FftwForkCases, C37_ChildRunsTheKeyOfAThreadedPlanOfItsParent) {
  ASSERT_TRUE(computes_right(plans_.acquire(key_)));
  ASSERT_EQ(plans_.acquire(key_)->threads, 2);
  EXPECT_EQ(run_in_child([this] { return computes_right(plans_.acquire(key_)) ? right : wrong; }), right);
  EXPECT_TRUE(computes_right(plans_.acquire(key_)));
  EXPECT_EQ(plans_.stats().builds, 1U);
}

TEST_F(FftwForkCases, C37_ChildBuildsItsOwnPlansAndForgetsItsParents) {
  ASSERT_TRUE(computes_right(plans_.acquire(key_)));
  EXPECT_EQ(run_in_child([this] {
              (void)plans_.acquire(key_);
              plans_.clear();
              const Stats stats = plans_.stats();
              return stats.builds == 2 && stats.abandoned == 1 && stats.destroys == 1 && stats.live == 0 ? right
                                                                                                         : wrong;
            }),
            right);
}

TEST_F(FftwFork, ChildRefusesToRunAThreadedPlanLeasedBefore) {
  const auto plan = plans_.acquire(key_);
  ASSERT_TRUE(computes_right(plan));
  EXPECT_EQ(run_in_child([&] {
              try {
                (void)computes_right(plan);
                return wrong;
              } catch (const InvalidArgument&) {
                return right;
              }
            }),
            right);
  EXPECT_TRUE(computes_right(plan));
}

TEST_F(FftwFork, ChildRunsAPlanOfOneThreadLeasedBefore) {
  const auto plan = plans_.acquire(PlanKey(PlanSpec::c2c({length})));
  EXPECT_EQ(run_in_child([&] { return computes_right(plan) ? right : wrong; }), right);
}

TEST_F(FftwFork, ChildPlansInEveryPrecision) {
  EXPECT_EQ(run_in_child([this] {
              for (const Precision precision : {Precision::float32, Precision::float64, Precision::long_double}) {
                const PlanKey key(PlanSpec::c2c({48}, Direction::forward, precision), {.threads = 2});
                if (plans_.acquire(key)->threads != 1) return wrong;
              }
              return right;
            }),
            right);
}

}  // namespace
}  // namespace larder::fft
