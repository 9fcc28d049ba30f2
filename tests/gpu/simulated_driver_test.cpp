// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The double notices what it is there to notice, and nothing else.
#include "doubles/simulated_driver.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/gpu/current_context.hpp>

namespace larder::gpu_tests {
namespace {

using doubles::ObjectId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SimulatedDriverTest : public testing::Test {
 protected:
  [[nodiscard]] auto notices(const char* what) { return ElementsAre(HasSubstr(what)); }

  doubles::SimulatedDriver driver{2, 1000};
  gpu::Context context = driver.primary_context(0);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream s1 = driver.create_stream();
  gpu::Stream s2 = driver.create_stream();
  ObjectId plan = driver.create_object("plan", 100);
};

TEST_F(SimulatedDriverTest, RightUseIsNotNoticed) {
  const gpu::NativeEvent event = driver.create_event();
  void* const area = driver.allocate(50);
  driver.launch(plan, s1, area);
  driver.launch(plan, s1, area);
  driver.record(event, s1);
  driver.wait(s2, event);
  driver.launch(plan, s2, area);
  driver.finish(s2);
  driver.launch(plan, s1);
  driver.finish(s1);
  driver.free(area, s1);
  driver.destroy_object(plan);
  driver.destroy_event(event);
  EXPECT_THAT(driver.violations(), IsEmpty());
  EXPECT_EQ(driver.memory_in_use(), 0U);
}

TEST_F(SimulatedDriverTest, NoticesAnObjectUsedByTwoStreamsWithoutOrder) {
  driver.launch(plan, s1);
  driver.launch(plan, s2);
  EXPECT_THAT(driver.violations(), notices("two streams without order"));
}

TEST_F(SimulatedDriverTest, NoticesAWorkAreaUsedByTwoStreamsWithoutOrder) {
  void* const area = driver.allocate(50);
  const ObjectId other = driver.create_object("plan", 100);
  driver.launch(plan, s1, area);
  driver.launch(other, s2, area);
  EXPECT_THAT(driver.violations(), notices("work area of plan 2"));
}

TEST_F(SimulatedDriverTest, AnEventOrdersOnlyWhatCameBeforeIt) {
  const gpu::NativeEvent event = driver.create_event();
  driver.record(event, s1);
  driver.launch(plan, s1);
  driver.wait(s2, event);
  driver.launch(plan, s2);
  EXPECT_THAT(driver.violations(), notices("two streams without order"));
}

TEST_F(SimulatedDriverTest, NoticesAnEventThatIsWaitedForInAnotherContext) {
  const gpu::NativeEvent event = driver.create_event();
  driver.record(event, s1);
  const gpu::CurrentContext other(driver, driver.primary_context(1));
  driver.wait(driver.create_stream(), event);
  driver.synchronize(event);
  EXPECT_THAT(driver.violations(),
              ElementsAre("wait for an event of another context", "synchronize outside the event's context"));
}

TEST_F(SimulatedDriverTest, WorkIsPendingUntilSomebodyWaits) {
  const gpu::NativeEvent event = driver.create_event();
  driver.record(event, s1);
  EXPECT_TRUE(driver.done(event));
  driver.launch(plan, s1);
  driver.record(event, s1);
  EXPECT_FALSE(driver.done(event));
  driver.synchronize(event);
  EXPECT_TRUE(driver.done(event));
  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST_F(SimulatedDriverTest, NoticesADestroyWhileWorkIsPending) {
  driver.launch(plan, s1);
  driver.destroy_object(plan);
  EXPECT_THAT(driver.violations(), notices("while its work is pending"));
}

TEST_F(SimulatedDriverTest, NoticesUseAfterDestroy) {
  driver.destroy_object(plan);
  driver.touch(plan, "exec");
  EXPECT_THAT(driver.violations(), notices("exec of plan 1 of context 1 after its destroy"));
}

TEST_F(SimulatedDriverTest, NoticesTheWrongContext) {
  {
    const gpu::CurrentContext other(driver, driver.primary_context(1));
    driver.touch(plan, "exec");
  }
  EXPECT_THAT(driver.violations(), notices("with context 2 current"));
}

TEST_F(SimulatedDriverTest, NoticesUseAfterTheLossOfTheContext) {
  const gpu::Context other = driver.create_context(1);
  driver.push(other);
  const ObjectId lost = driver.create_object("plan", 1);
  driver.lose_context(other);
  driver.touch(lost, "exec");
  driver.pop();
  EXPECT_THAT(driver.violations(), notices("after the loss of its context"));
  EXPECT_EQ(driver.memory_in_use(1), 0U);
}

TEST_F(SimulatedDriverTest, MemoryFreedOnAStreamComesBackWhenTheStreamGetsThere) {
  void* const area = driver.allocate(500);
  driver.launch(plan, s1, area);
  driver.free(area, s1);
  EXPECT_EQ(driver.memory_in_use(), 600U);
  driver.finish(s1);
  EXPECT_EQ(driver.memory_in_use(), 100U);
  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST_F(SimulatedDriverTest, NoticesMemoryFreedBeforeItsUseIsDone) {
  void* const area = driver.allocate(500);
  driver.launch(plan, s1, area);
  driver.free(area, s2);
  EXPECT_THAT(driver.violations(), notices("does not come after its use"));
}

TEST_F(SimulatedDriverTest, NoticesMemoryUsedAfterItWasFreed) {
  void* const area = driver.allocate(500);
  driver.free(area, s1);
  driver.launch(plan, s1, area);
  EXPECT_THAT(driver.violations(), notices("a work area that was freed"));
}

TEST_F(SimulatedDriverTest, MemoryRunsOut) {
  EXPECT_EQ(driver.memory().free, 900U);
  EXPECT_THROW((void)driver.allocate(901), gpu::OutOfMemory);
  EXPECT_THROW((void)driver.create_object("plan", 901), gpu::OutOfMemory);
  void* const all = driver.allocate(900);
  EXPECT_EQ(driver.memory().free, 0U);
  driver.free_when_idle(all);
  EXPECT_EQ(driver.memory().free, 900U);
  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST_F(SimulatedDriverTest, AStreamAtTheAddressOfADestroyedOneHasAnotherId) {
  const std::uint64_t id = driver.stream_id(s1);
  driver.destroy_stream(s1);
  const gpu::Stream next = driver.create_stream();
  EXPECT_EQ(next, s1);
  EXPECT_NE(driver.stream_id(next), id);
}

TEST_F(SimulatedDriverTest, DefaultStreamsBelongToTheContextAndPerThreadOnesToTheThread) {
  const std::uint64_t legacy = driver.stream_id({});
  const gpu::Stream per_thread(reinterpret_cast<void*>(2));
  const std::uint64_t mine = driver.stream_id(per_thread);
  EXPECT_NE(legacy, mine);
  EXPECT_EQ(driver.stream_id({}), legacy);
  std::thread([&] {
    const gpu::CurrentContext same(driver, context);
    EXPECT_EQ(driver.stream_id({}), legacy);
    EXPECT_NE(driver.stream_id(per_thread), mine);
  }).join();
  const gpu::CurrentContext other(driver, driver.primary_context(1));
  EXPECT_NE(driver.stream_id({}), legacy);
}

class CapturingDriverTest : public SimulatedDriverTest {
 protected:
  CapturingDriverTest() { driver.begin_capture(s1); }
};

TEST_F(CapturingDriverTest, TheStateOfAStreamThatCapturesIsThatOfTheCapture) {
  const StreamState first = driver.stream_state(s1);
  EXPECT_TRUE(first.capturing);
  EXPECT_FALSE(driver.stream_state(s2).capturing);
  driver.end_capture(s1);
  const StreamState after = driver.stream_state(s1);
  EXPECT_FALSE(after.capturing);
  driver.begin_capture(s1);
  EXPECT_NE(driver.stream_state(s1).id, first.id);
  EXPECT_NE(after.id, first.id);
  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST_F(CapturingDriverTest, NoticesTheQuestionThatBreaksACapture) {
  (void)driver.stream_id(s1);
  EXPECT_THAT(driver.violations(), notices("stream_id breaks the capture"));
}

TEST_F(CapturingDriverTest, NoticesCallsByOtherThreadsThatBreakACapture) {
  std::thread([this] {
    driver.push(context);
    (void)driver.create_object("plan", 1);
  }).join();
  EXPECT_THAT(driver.violations(), notices("create_object breaks the capture"));
}

TEST_F(CapturingDriverTest, NoticesOrderBetweenACaptureAndWhatIsOutside) {
  const gpu::NativeEvent in_graph = driver.create_event();
  const gpu::NativeEvent outside = driver.create_event();
  driver.record(in_graph, s1);
  driver.record(outside, s2);
  driver.wait(s2, in_graph);
  driver.wait(s1, outside);
  EXPECT_THAT(driver.violations(), ElementsAre(HasSubstr("an event of a capture"), HasSubstr("outside of it")));
}

TEST_F(CapturingDriverTest, NoticesWhateverTouchesWhatAGraphUses) {
  driver.launch(plan, s1);
  driver.end_capture(s1);
  driver.launch(plan, s2);
  EXPECT_THAT(driver.violations(), notices("used while a captured graph uses it"));
  driver.forget_violations();
  driver.finish(s2);
  driver.destroy_object(plan);
  EXPECT_THAT(driver.violations(), notices("destroy of plan 1 of context 1 while a captured graph uses it"));
}

TEST_F(CapturingDriverTest, NoticesAnObjectUsedByTwoBranchesOfAGraph) {
  driver.join_capture(s2, s1);
  EXPECT_NE(driver.stream_state(s1).id, driver.stream_state(s2).id);
  driver.launch(plan, s1);
  driver.launch(plan, s2);
  EXPECT_THAT(driver.violations(), notices("used by two branches of a graph"));
}

TEST_F(CapturingDriverTest, AfterTheEndOfTheGraphsAllIsAsBefore) {
  driver.launch(plan, s1);
  driver.end_capture(s1);
  driver.forget_graphs();
  driver.launch(plan, s2);
  driver.finish(s2);
  driver.destroy_object(plan);
  EXPECT_THAT(driver.violations(), IsEmpty());
}

TEST_F(CapturingDriverTest, NoticesAGraphThatUsesAnObjectWhoseWorkIsPending) {
  driver.launch(plan, s2);
  driver.launch(plan, s1);
  EXPECT_THAT(driver.violations(), notices("captured while its work is pending"));
}

}  // namespace
}  // namespace larder::gpu_tests
