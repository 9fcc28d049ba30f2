// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/current_context.hpp>

#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doubles/simulated_driver.hpp"

namespace larder::gpu_tests {
namespace {

using gpu::Context;
using gpu::CurrentContext;

class CurrentContextTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(driver.violations(), testing::IsEmpty()); }

  doubles::SimulatedDriver driver{2};
  Context a = driver.primary_context(0);
  Context b = driver.primary_context(1);
};

TEST_F(CurrentContextTest, MakesAContextCurrentAndThenRestoresTheOneBefore) {
  driver.push(a);
  {
    const CurrentContext inside(driver, b);
    EXPECT_EQ(driver.current(), b);
  }
  EXPECT_EQ(driver.stack(), std::vector{a});
}

TEST_F(CurrentContextTest, OnAThreadWithoutAContextThereIsNoneAfterwards) {
  std::thread([this] {
    {
      const CurrentContext inside(driver, b);
      EXPECT_EQ(driver.current(), b);
    }
    EXPECT_THAT(driver.stack(), testing::IsEmpty());
  }).join();
}

TEST_F(CurrentContextTest, AContextThatIsCurrentAlreadyIsNotPushedAgain) {
  driver.push(a);
  const CurrentContext inside(driver, a);
  EXPECT_EQ(driver.stack(), std::vector{a});
}

TEST_F(CurrentContextTest, WhatALibraryMadeCurrentInsideIsUndone) {
  driver.push(a);
  {
    const CurrentContext inside(driver, b);
    driver.set_current(a);
  }
  EXPECT_EQ(driver.stack(), std::vector{a});
  {
    const CurrentContext inside(driver, a);
    driver.set_current(b);
  }
  EXPECT_EQ(driver.stack(), std::vector{a});
}

TEST_F(CurrentContextTest, AnExceptionRestoresToo) {
  driver.push(a);
  EXPECT_THROW(
      {
        const CurrentContext inside(driver, b);
        throw std::runtime_error("x");
      },
      std::runtime_error);
  EXPECT_EQ(driver.stack(), std::vector{a});
}

TEST_F(CurrentContextTest, ALostContextThrowsAndChangesNothing) {
  driver.push(a);
  driver.lose_context(b);
  EXPECT_THROW(const CurrentContext inside(driver, b), gpu::DriverError);
  EXPECT_EQ(driver.stack(), std::vector{a});
}

TEST_F(CurrentContextTest, AnotherContextAtTheAddressOfALostOneIsAnother) {
  const Context lost = driver.create_context(0);
  driver.lose_context(lost);
  const Context next = driver.create_context(0);
  EXPECT_EQ(next.native, lost.native);
  driver.push(next);
  EXPECT_THROW(const CurrentContext inside(driver, lost), gpu::DriverError);
  EXPECT_EQ(driver.current(), next);
}

TEST_F(CurrentContextTest, CallsInsideDoNotBreakACapture) {
  driver.push(a);
  const gpu::Stream stream = driver.create_stream();
  driver.begin_capture(stream);
  {
    const CurrentContext inside(driver, a);
    driver.free_when_idle(driver.allocate(8));
  }
  EXPECT_THAT(driver.violations(), testing::IsEmpty());
  driver.free_when_idle(driver.allocate(8));
  EXPECT_THAT(driver.violations(),
              testing::ElementsAre("allocate breaks the capture", "free_when_idle breaks the capture"));
  driver.end_capture(stream);
  driver.forget_violations();
}

}  // namespace
}  // namespace larder::gpu_tests
