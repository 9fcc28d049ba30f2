// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/work_areas.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/gpu/current_context.hpp>

#include "doubles/simulated_driver.hpp"

namespace larder::gpu_tests {
namespace {

using gpu::WorkAreaRef;
using gpu::WorkAreas;

class WorkAreasTest : public testing::Test {
 protected:
  void TearDown() override {
    areas.reset();
    EXPECT_THAT(driver.violations(), testing::IsEmpty());
  }
  WorkAreaRef enter(gpu::Stream stream, std::size_t bytes) {
    const gpu::CurrentContext here(driver, context);
    return areas->enter(context, stream, driver.stream_state(stream), bytes);
  }
  void use(gpu::Stream stream, std::size_t bytes) {
    const WorkAreaRef area = enter(stream, bytes);
    driver.launch(plan, stream, area.memory());
    driver.finish(stream);
    areas->leave(area);
  }

  doubles::SimulatedDriver driver{2, 100'000};
  gpu::Context context = driver.primary_context(0);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream s1 = driver.create_stream();
  gpu::Stream s2 = driver.create_stream();
  doubles::ObjectId plan = driver.create_object("plan", 0);
  std::optional<WorkAreas> areas{std::in_place, driver};
};

TEST_F(WorkAreasTest, AllUsersOfAStreamShareItsArea) {
  const WorkAreaRef a = enter(s1, 1000);
  const WorkAreaRef b = enter(s1, 500);
  EXPECT_EQ(a.memory(), b.memory());
  EXPECT_EQ(areas->bytes(), 1024U);
  areas->leave(a);
  areas->leave(b);
}

TEST_F(WorkAreasTest, EachStreamHasItsOwn) {
  const WorkAreaRef a = enter(s1, 1000);
  const WorkAreaRef b = enter(s2, 1000);
  EXPECT_NE(a.memory(), b.memory());
  areas->leave(a);
  areas->leave(b);
}

TEST_F(WorkAreasTest, AnAreaThatNobodyUsesIsKeptAndEnteredAgainWithoutLookingItUp) {
  const WorkAreaRef area = enter(s1, 1000);
  areas->leave(area);
  EXPECT_TRUE(WorkAreas::reenter(area));
  EXPECT_EQ(enter(s1, 1000).memory(), area.memory());
  areas->leave(area);
  areas->leave(area);
  EXPECT_EQ(driver.allocations(), 1U);
}

TEST_F(WorkAreasTest, ALargerRequestAtLeastDoublesTheAreaAndTheOldOneIsFreedInStreamOrder) {
  const WorkAreaRef small = enter(s1, 1024);
  driver.launch(plan, s1, small.memory());
  areas->leave(small);
  const WorkAreaRef large = enter(s1, 1025);
  EXPECT_EQ(large.bytes(), 2048U);
  EXPECT_FALSE(WorkAreas::reenter(small));
  EXPECT_EQ(areas->bytes(), 2048U);
  EXPECT_EQ(driver.memory_in_use(), 1024U + 2048U);  // the stream has not got there
  driver.finish(s1);
  EXPECT_EQ(driver.memory_in_use(), 2048U);
  areas->leave(large);
}

TEST_F(WorkAreasTest, AnAreaInUseOutlivesItsReplacementUntilTheLastUserLeaves) {
  const WorkAreaRef first = enter(s1, 1024);
  const WorkAreaRef second = enter(s1, 1024);
  const WorkAreaRef larger = enter(s1, 5000);
  driver.launch(plan, s1, first.memory());
  areas->leave(first);
  EXPECT_EQ(areas->bytes(), 1024U + 5120U);
  driver.launch(plan, s1, second.memory());
  areas->leave(second);
  EXPECT_EQ(areas->bytes(), 5120U);
  driver.launch(plan, s1, larger.memory());
  areas->leave(larger);
}

TEST_F(WorkAreasTest, ARememberedAreaIsNotMistakenForALaterOneInItsPlace) {
  const WorkAreaRef old = enter(s1, 1024);
  areas->leave(old);
  EXPECT_EQ(areas->trim(), 1024U);
  const WorkAreaRef next = enter(s2, 1024);
  EXPECT_EQ(next.area, old.area);  // the place is used again
  EXPECT_FALSE(WorkAreas::reenter(old));
  areas->leave(next);
}

TEST_F(WorkAreasTest, TheAreaOfADestroyedStreamGoesWhenItsAddressIsUsedAgain) {
  use(s1, 1024);
  driver.destroy_stream(s1);
  const gpu::Stream next = driver.create_stream();
  ASSERT_EQ(next, s1);
  use(next, 1024);
  EXPECT_EQ(areas->bytes(), 1024U);
  EXPECT_EQ(driver.allocations(), 1U);
}

TEST_F(WorkAreasTest, AThousandShortStreamsStayBounded) {
  std::vector<gpu::Stream> streams;
  for (int i = 0; i < 1000; ++i) {
    streams.push_back(driver.create_stream());  // none is destroyed: their addresses differ
    use(streams.back(), 512);
    ASSERT_LE(driver.allocations(), 64U);
  }
}

TEST_F(WorkAreasTest, TrimGivesUpWhatNobodyUses) {
  const WorkAreaRef used = enter(s1, 1024);
  use(s2, 2048);
  EXPECT_EQ(areas->trim(), 2048U);
  EXPECT_EQ(areas->bytes(), 1024U);
  driver.launch(plan, s1, used.memory());
  areas->leave(used);
  EXPECT_EQ(areas->trim(), 1024U);
  EXPECT_EQ(driver.memory_in_use(), 0U);
}

TEST_F(WorkAreasTest, ShortMemoryGivesUpUnusedAreasAndTriesOnceMore) {
  use(s1, 60'000);
  use(s2, 60'000);
  EXPECT_EQ(driver.allocations(), 1U);
  const WorkAreaRef used = enter(s2, 60'000);
  EXPECT_THROW((void)enter(s1, 60'000), gpu::OutOfMemory);
  areas->leave(used);
}

TEST_F(WorkAreasTest, ACaptureHasAnAreaOfItsOwnThatStaysUntilItsGraphsAreGone) {
  use(s1, 1024);
  driver.begin_capture(s1);
  const WorkAreaRef captured = enter(s1, 1024);
  driver.launch(plan, s1, captured.memory());
  areas->leave(captured);
  const WorkAreaRef again = enter(s1, 1024);
  EXPECT_EQ(again.memory(), captured.memory());
  areas->leave(again);
  driver.end_capture(s1);
  EXPECT_EQ(areas->bytes(), 2048U);
  EXPECT_EQ(areas->trim(), 1024U);
  driver.forget_graphs();
  areas->release_captured();
  EXPECT_EQ(areas->bytes(), 0U);
}

TEST_F(WorkAreasTest, AnAreaThatACaptureOutgrewStaysToo) {
  driver.begin_capture(s1);
  const WorkAreaRef small = enter(s1, 1024);
  driver.launch(plan, s1, small.memory());
  areas->leave(small);
  const WorkAreaRef large = enter(s1, 4096);
  driver.launch(plan, s1, large.memory());
  areas->leave(large);
  driver.end_capture(s1);
  EXPECT_EQ(areas->bytes(), 1024U + 4096U);
  driver.forget_graphs();
  areas->release_captured();
  EXPECT_EQ(areas->bytes(), 0U);
}

TEST_F(WorkAreasTest, ALostContextTakesItsAreasWithIt) {
  const gpu::Context other = driver.create_context(1);
  WorkAreaRef used;
  gpu::Stream there;
  {
    const gpu::CurrentContext in_other(driver, other);
    there = driver.create_stream();
    used = areas->enter(other, there, driver.stream_state(there), 1024);
  }
  driver.lose_context(other);
  areas->invalidate(other);
  EXPECT_FALSE(WorkAreas::reenter(used));
  areas->leave(used);
  EXPECT_EQ(areas->bytes(), 0U);
}

TEST_F(WorkAreasTest, ALostContextTakesReplacedAreasThatAreInUseWithIt) {
  const gpu::Context other = driver.create_context(1);
  WorkAreaRef small;
  WorkAreaRef large;
  {
    const gpu::CurrentContext in_other(driver, other);
    const gpu::Stream there = driver.create_stream();
    small = areas->enter(other, there, driver.stream_state(there), 1024);
    large = areas->enter(other, there, driver.stream_state(there), 4096);
  }
  EXPECT_EQ(areas->bytes(), 1024U + 4096U);
  driver.lose_context(other);
  areas->invalidate(other);
  EXPECT_EQ(areas->bytes(), 0U);
  areas->leave(large);
  areas->leave(small);
  EXPECT_EQ(areas->bytes(), 0U);
}

TEST_F(WorkAreasTest, ALostContextIsNoticedWithoutBeingToldOf) {
  const gpu::Context other = driver.create_context(1);
  {
    const gpu::CurrentContext in_other(driver, other);
    const gpu::Stream there = driver.create_stream();
    areas->leave(areas->enter(other, there, driver.stream_state(there), 1024));
  }
  driver.lose_context(other);
  EXPECT_EQ(areas->trim(), 1024U);
}

TEST_F(WorkAreasTest, AFailedAllocationLeavesNothingBehind) {
  EXPECT_THROW((void)enter(s1, 200'000), gpu::OutOfMemory);
  EXPECT_EQ(areas->bytes(), 0U);
  use(s1, 1024);
}

/// Takes memory from the driver, and counts.
class CountingAllocator final : public gpu::Allocator {
 public:
  explicit CountingAllocator(gpu::Driver& driver) : driver_(driver) {}
  void* allocate(std::size_t bytes, gpu::Stream stream) override {
    last_stream = stream;
    held += bytes;
    return driver_.allocate(bytes);
  }
  void free(void* memory, std::size_t bytes, gpu::Stream stream) noexcept override {
    held -= bytes;
    driver_.free(memory, stream);
  }
  void free_when_idle(void* memory, std::size_t bytes) noexcept override {
    held -= bytes;
    driver_.free_when_idle(memory);
  }
  std::size_t held = 0;
  gpu::Stream last_stream;

 private:
  gpu::Driver& driver_;
};

TEST_F(WorkAreasTest, MemoryComesFromTheUsersAllocatorAndGoesBackToIt) {
  CountingAllocator allocator(driver);
  areas.emplace(driver, &allocator);
  use(s1, 1024);
  EXPECT_EQ(allocator.last_stream, s1);
  EXPECT_EQ(allocator.held, 1024U);
  use(s1, 1025);
  EXPECT_EQ(allocator.held, 2048U);
  areas.reset();
  EXPECT_EQ(allocator.held, 0U);
}

TEST_F(WorkAreasTest, ThreadsThatGrowUseAndTrimNeverUseMemoryThatIsGone) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const gpu::CurrentContext here(driver, context);
      const doubles::ObjectId mine = driver.create_object("plan", 0);
      const gpu::Stream stream = t % 2 == 0 ? s1 : s2;
      WorkAreaRef area;
      for (std::size_t i = 0; i < 300; ++i) {
        if (!area || !WorkAreas::reenter(area))
          area = areas->enter(context, stream, driver.stream_state(stream), 8 * (i + 1));
        driver.launch(mine, stream, area.memory());
        if (area.bytes() < 8 * (i + 1)) {
          areas->leave(area);
          area = areas->enter(context, stream, driver.stream_state(stream), 8 * (i + 1));
        }
        if (area.bytes() < 8 * (i + 1)) ++failures;
        areas->leave(area);
        if (i % 50 == 49) areas->trim();
      }
      driver.finish(stream);
      driver.destroy_object(mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace larder::gpu_tests
