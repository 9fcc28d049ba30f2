// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A leased cuFFT plan runs on the stream of its lease, in that stream's work area, in order with the plan's other uses.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <larder/error.hpp>

#include "fft/cufft_world.hpp"

namespace larder::fft::cufft {
namespace {

class CufftStreamTest : public CufftTest {};

TEST_F(CufftStreamTest, TheStreamIsSetWhenItChanges) {
  make({.max_idle = 1});
  for (int i = 0; i < 10; ++i) use(no_area, s1);
  EXPECT_EQ(cufft.calls("cufftSetStream"), 1U);
  driver.finish(s1);
  for (int i = 0; i < 10; ++i) use(no_area, s2);
  EXPECT_EQ(cufft.calls("cufftSetStream"), 2U);
  EXPECT_EQ(cufft.plans_made(), 1U);
}

TEST_F(CufftStreamTest, AStreamAtTheAddressOfADestroyedOneIsSetAgain) {
  const gpu::Stream gone = driver.create_stream();
  use(no_area, gone);
  driver.finish(gone);
  driver.destroy_stream(gone);
  const gpu::Stream successor = driver.create_stream();
  ASSERT_EQ(gone, successor);
  use(no_area, successor);
  EXPECT_EQ(cufft.calls("cufftSetStream"), 2U);
}

TEST_F(CufftStreamTest, C41_WorkGoesToTheStreamOfTheLease) {
  use(small_area, s1);
  driver.finish(s1);
  void* area_of_s1 = nullptr;
  {
    const auto plan = cache->acquire(key(small_area), s1);
    area_of_s1 = cufft.work_area_of(*plan);
  }
  const auto plan = cache->acquire(key(small_area), s2);
  EXPECT_EQ(cufft.stream_of(*plan), s2.native());
  EXPECT_NE(cufft.work_area_of(*plan), area_of_s1);
  run(plan);
  EXPECT_EQ(cufft.plans_made(), 1U);
}

TEST_F(CufftStreamTest, TheDefaultStreamIsThatOfThePlansContext) {
  const gpu::CurrentContext elsewhere(driver, other);
  for (const std::int64_t length : {no_area, small_area}) {
    const auto plan = cache->acquire(key(length), gpu::Stream{});
    EXPECT_EQ(cufft.context_of(*plan), context);
    run(plan);
    EXPECT_EQ(driver.current(), other);
  }
  use(small_area, gpu::Stream{});
  EXPECT_EQ(cufft.calls("cufftSetStream"), 2U);
  EXPECT_EQ(driver.current(), other);
}

TEST_F(CufftStreamTest, APlanThatNeedsNoAreaGetsNone) {
  use(no_area, s1);
  EXPECT_EQ(areas->bytes(), 0U);
  EXPECT_EQ(cufft.calls("cufftSetWorkArea"), 0U);
}

TEST_F(CufftStreamTest, PlansOfAStreamShareItsArea) {
  use(large_area, s1);
  const std::size_t held = areas->bytes();
  for (int i = 0; i < 10; ++i) {
    use(small_area, s1);
    use(large_area, s1);
  }
  EXPECT_EQ(areas->bytes(), held);
  EXPECT_EQ(driver.allocations(), 1U);
  EXPECT_EQ(cufft.calls("cufftSetWorkArea"), 2U) << "once for each plan";
}

TEST_F(CufftStreamTest, AnAreaThatGrowsLeavesTheOtherLeaseItsOwn) {
  auto small = cache->acquire(key(small_area), s1);
  run(small);
  void* const before = cufft.work_area_of(*small);
  {
    const auto large = cache->acquire(key(large_area), s1);
    run(large);
    run(small);
    EXPECT_EQ(cufft.work_area_of(*small), before);
    EXPECT_NE(cufft.work_area_of(*large), before);
  }
  run(small);
  small.release();
  use(small_area, s1);
  EXPECT_EQ(cufft.calls("cufftSetWorkArea"), 3U) << "the small plan moves into the larger area";
  driver.finish(s1);
  EXPECT_EQ(driver.allocations(), 1U);
}

TEST_F(CufftStreamTest, TheAreaIsLargeEnough) {
  /// Remembers how large each piece of memory is.
  class Sizes final : public gpu::Allocator {
   public:
    explicit Sizes(gpu::Driver& source) : source_(source) {}
    void* allocate(std::size_t bytes, gpu::Stream) override {
      void* const memory = source_.allocate(bytes);
      sizes[memory] = bytes;
      return memory;
    }
    void free(void* memory, std::size_t bytes, gpu::Stream stream) noexcept override {
      EXPECT_EQ(sizes.at(memory), bytes);
      source_.free(memory, stream);
    }
    void free_when_idle(void* memory, std::size_t bytes) noexcept override {
      EXPECT_EQ(sizes.at(memory), bytes);
      source_.free_when_idle(memory);
    }
    std::map<void*, std::size_t> sizes;

   private:
    gpu::Driver& source_;
  };
  Sizes sizes(driver);
  const auto own = std::make_shared<gpu::WorkAreas>(driver, &sizes);
  cache.emplace(Budget{}, Options{}, PlanFactory(driver, cufft.library(), own));
  for (const std::int64_t length : {small_area, large_area, small_area, std::int64_t{5009}, std::int64_t{70001}}) {
    const auto plan = cache->acquire(key(length), s1);
    EXPECT_EQ(plan->work_size(), static_cast<std::size_t>(length) * 24);
    EXPECT_GE(sizes.sizes.at(cufft.work_area_of(*plan)), plan->work_size());
    run(plan);
  }
  EXPECT_EQ(areas->bytes(), 0U) << "all memory is the allocator's";
  cache.reset();
}

TEST_F(CufftStreamTest, ADiscardedLeaseLeavesItsArea) {
  auto plan = cache->acquire(key(small_area), s1);
  run(plan);
  plan.discard();
  EXPECT_EQ(cufft.open(), 0U);
  EXPECT_GT(areas->trim(), 0U);
  EXPECT_EQ(areas->bytes(), 0U);
}

TEST_F(CufftStreamTest, AnAreaThatWasGivenUpIsMadeAnew) {
  use(small_area, s1);
  driver.finish(s1);
  EXPECT_GT(areas->trim(), 0U);
  use(small_area, s1);
  EXPECT_GT(areas->bytes(), 0U);
}

TEST_F(CufftStreamTest, C40_ASecondStreamComesAfterTheFirst) {
  make({.max_idle = 1});
  for (int i = 0; i < 20; ++i) {
    use(large_area, s1);
    use(large_area, s2);
  }
  EXPECT_LE(cache->stats().live, 1U);
}

TEST_F(CufftStreamTest, C40_ThreadsOnTheirOwnStreams) {
  constexpr int threads = 16;
  std::vector<gpu::Stream> streams;
  for (int t = 0; t < threads; ++t) streams.push_back(driver.create_stream());
  std::atomic<int> wrong{0};
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      const gpu::Stream mine = streams[static_cast<std::size_t>(t)];
      for (int i = 0; i < 100; ++i) {
        const auto plan = cache->acquire(key(i % 3 == 0 ? no_area : small_area), mine);
        run(plan);
        if (cufft.stream_of(*plan) != mine.native()) ++wrong;
      }
      if (!driver.stack().empty()) ++wrong;
    });
  }
  for (std::thread& thread : running) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache->stats().leased, 0U);
}

// --- Captures --------------------------------------------------------------------------------------------------------

TEST_F(CufftStreamTest, ACaptureBuildsNothing) {
  driver.begin_capture(s1);
  EXPECT_THROW((void)cache->acquire(key(small_area), s1), WouldBuild);
  EXPECT_THAT(cufft.history(), testing::IsEmpty());
  driver.end_capture(s1);
}

TEST_F(CufftStreamTest, ACaptureKeepsItsPlanAndItsArea) {
  cache->prewarm(key(small_area));
  use(small_area, s1);
  driver.finish(s1);
  driver.begin_capture(s1);
  void* captured_area = nullptr;
  int captured_plan = -1;
  for (int i = 0; i < 3; ++i) {
    const auto plan = cache->acquire(key(small_area), s1);
    run(plan);
    if (i > 0) {
      EXPECT_EQ(cufft.work_area_of(*plan), captured_area);
      EXPECT_EQ(*plan, captured_plan);
    }
    captured_area = cufft.work_area_of(*plan);
    captured_plan = *plan;
  }
  driver.end_capture(s1);
  for (const gpu::Stream stream : {s1, s2, s1}) {
    const auto plan = cache->acquire(key(small_area), stream);
    EXPECT_NE(*plan, captured_plan);
    EXPECT_NE(cufft.work_area_of(*plan), captured_area);
    run(plan);
  }
  driver.forget_graphs();
  areas->release_captured();
}

TEST_F(CufftStreamTest, BranchesOfACaptureShareNeitherPlanNorArea) {
  cache->prewarm(key(small_area), 2);
  driver.begin_capture(s1);
  driver.join_capture(s2, s1);
  // One after the other on the host, side by side in the graph.
  for (const gpu::Stream branch : {s1, s2, s1, s2}) use(small_area, branch);
  driver.end_capture(s2);
  driver.end_capture(s1);
  EXPECT_EQ(cache->stats().leased, 2U);
  driver.forget_graphs();
}

TEST_F(CufftStreamTest, ACaptureOnAnotherStreamIsNotDisturbed) {
  driver.begin_capture(s2);
  use(small_area, s1);
  use(large_area, s1);
  (void)cache->trim(Budget::unlimited);
  driver.end_capture(s2);
}

}  // namespace
}  // namespace larder::fft::cufft
