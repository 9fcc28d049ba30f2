// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/event.hpp>

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doubles/simulated_driver.hpp"

namespace larder::gpu_tests {
namespace {

class EventTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(driver.violations(), testing::IsEmpty()); }

  doubles::SimulatedDriver driver{2};
  gpu::Context context = driver.primary_context(0);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream stream = driver.create_stream();
  gpu::EventCache events{{}, {}, gpu::EventFactory(driver)};
};

TEST_F(EventTest, TheFirstRecordLeasesAnEventThatLaterOnesUseAgain) {
  gpu::Event event;
  event.record(driver, events, context, stream);
  const gpu::NativeEvent native = event.native();
  event.record(driver, events, context, stream);
  EXPECT_EQ(event.native(), native);
  EXPECT_EQ(events.stats().builds, 1U);
}

TEST_F(EventTest, TheEndOfOneGivesItsEventToTheNext) {
  for (int round = 0; round < 3; ++round) {
    gpu::Event event;
    event.record(driver, events, context, stream);
  }
  EXPECT_EQ(events.stats().builds, 1U);
  EXPECT_EQ(driver.events_alive(), 1U);
  events.clear();
  EXPECT_EQ(driver.events_alive(), 0U);
}

TEST_F(EventTest, EachContextHasItsOwn) {
  const gpu::Context other = driver.primary_context(1);
  {
    gpu::Event here;
    here.record(driver, events, context, stream);
  }
  const gpu::CurrentContext there(driver, other);
  gpu::Event event;
  event.record(driver, events, other, driver.create_stream());
  EXPECT_EQ(events.stats().builds, 2U);
}

TEST_F(EventTest, EventsOfALostContextAreForgotten) {
  const gpu::Context other = driver.create_context(1);
  std::optional<gpu::Event> event(std::in_place);
  {
    const gpu::CurrentContext there(driver, other);
    event->record(driver, events, other, driver.create_stream());
  }
  driver.lose_context(other);
  event.reset();
  events.clear();
  EXPECT_EQ(events.stats().abandoned, 1U);
  EXPECT_EQ(events.stats().live, 0U);
}

}  // namespace
}  // namespace larder::gpu_tests
