// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's handles. Each thread of a test has a HeldHandles of its own, as the library's functions have one per thread.
#include <larder/library/held_handles.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/library/cublas.hpp>

#include "doubles/simulated_driver.hpp"
#include "doubles/simulated_libraries.hpp"

namespace larder::library_tests {
namespace {

using doubles::SimulatedDriver;
using doubles::SimulatedLibraries;

class HeldHandlesTest : public testing::Test {
 protected:
  using Factory = cublas::HandleFactory;
  using Held = library::HeldHandles<Factory>;

  void TearDown() override { EXPECT_THAT(driver.violations(), testing::IsEmpty()); }
  /// As a thread of its own does.
  template <class Use>
  void on_a_thread(Use&& use) {
    std::thread([&] {
      const gpu::CurrentContext here(driver, context);
      Held held(cache, driver);
      use(held);
    }).join();
  }

  SimulatedDriver driver{2};
  SimulatedLibraries libraries{driver, 1000};
  gpu::Context context = driver.primary_context(0);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream s1 = driver.create_stream();
  gpu::Stream s2 = driver.create_stream();
  HandleCache<Factory> cache{{}, {}, Factory(driver, library::cublas_calls(SimulatedLibraries::cublas()))};
};

TEST_F(HeldHandlesTest, C10TheSameHandleForEveryRequestOnAStreamWithOneRequestToTheCache) {
  Held held(cache, driver);
  void* const first = held.on(s1);
  for (int i = 0; i < 52'000; ++i) EXPECT_EQ(static_cast<void*>(held.on(s1)), first);
  EXPECT_EQ(driver.objects_created(), 1U);
  EXPECT_EQ(cache.stats().hits + cache.stats().misses, 1U);
}

TEST_F(HeldHandlesTest, EachOfAFewStreamsHasAHandleThatIsSetToIt) {
  Held held(cache, driver);
  void* first[2] = {held.on(s1), held.on(s2)};
  EXPECT_NE(first[0], first[1]);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(static_cast<void*>(held.on(s1)), first[0]);
    EXPECT_EQ(static_cast<void*>(held.on(s2)), first[1]);
    EXPECT_EQ(libraries.at(first[0]).stream, s1.native());
    EXPECT_EQ(libraries.at(first[1]).stream, s2.native());
    libraries.launch(first[0]);
    libraries.launch(first[1]);
  }
  EXPECT_EQ(cache.stats().hits + cache.stats().misses, 2U);
}

TEST_F(HeldHandlesTest, AFifthStreamGivesTheOthersBackAfterAWaitForTheDevice) {
  Held held(cache, driver);
  int waits = 0;
  driver.set_hook([&](const std::string& member) { waits += member == "wait_until_idle" ? 1 : 0; });
  std::vector<gpu::Stream> streams{s1, s2, driver.create_stream(), driver.create_stream(), driver.create_stream()};
  for (const gpu::Stream stream : streams) {
    EXPECT_EQ(waits, 0);
    libraries.launch(held.on(stream));
  }
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(held.size(), 1U);
  EXPECT_EQ(cache.stats().idle, 3U);  // the fifth took one of the four
  EXPECT_EQ(driver.objects_created(), 4U);
  driver.set_hook({});
}

TEST_F(HeldHandlesTest, StreamsMayBeDestroyedWhileTheirHandlesAreHeld) {
  on_a_thread([&](Held& held) {
    for (int i = 0; i < 20; ++i) {
      const gpu::Stream passing = driver.create_stream();
      libraries.launch(held.on(passing));
      driver.destroy_stream(passing);
    }
  });
  EXPECT_LE(driver.objects_created(), 4U);
  EXPECT_EQ(cache.stats().leased, 0U);
}

TEST_F(HeldHandlesTest, WhenTheDeviceCannotBeWaitedForTheHandlesAreAbandoned) {
  on_a_thread([&](Held& held) {
    libraries.launch(held.on(s1));
    driver.set_hook([](const std::string& member) {
      if (member == "wait_until_idle") throw gpu::DriverError("wait_until_idle", 999, "UNKNOWN");
    });
  });
  driver.set_hook({});
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(cache.stats().leased, 0U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(HeldHandlesTest, ThreadsNeverShareAndTheNextThreadGetsWhatOneLeaves) {
  void* mine = nullptr;
  void* first = nullptr;
  void* second = nullptr;
  Held held(cache, driver);
  mine = held.on(s1);
  on_a_thread([&](Held& theirs) { first = theirs.on(s1); });
  on_a_thread([&](Held& theirs) { second = theirs.on(s1); });
  EXPECT_NE(first, mine);
  EXPECT_EQ(second, first);
  EXPECT_EQ(driver.objects_created(), 2U);
}

TEST_F(HeldHandlesTest, AThreadThatEndsLeavesModesAtTheirDefault) {
  void* handle = nullptr;
  on_a_thread([&](Held& theirs) {
    handle = theirs.on(s1);
    libraries.set(handle, "pointer", 1);
    (void)theirs.on(s1);
    EXPECT_EQ(libraries.at(handle).modes["pointer"], 1);  // they stay as long as the thread has it
  });
  EXPECT_EQ(libraries.at(handle).modes["pointer"], 0);
}

TEST_F(HeldHandlesTest, HasAHandlePerContext) {
  const gpu::Context other = driver.primary_context(1);
  Held held(cache, driver);
  void* const here = held.on({});
  void* there = nullptr;
  {
    const gpu::CurrentContext in_other(driver, other);
    there = held.on({});
    EXPECT_EQ(static_cast<void*>(held.on({})), there);
  }
  EXPECT_NE(here, there);
  EXPECT_EQ(static_cast<void*>(held.on({})), here);
  EXPECT_EQ(driver.objects_created(), 2U);
}

TEST_F(HeldHandlesTest, HandlesOfLostContextsAreForgottenAndDoNotPileUp) {
  Held held(cache, driver);
  for (int i = 0; i < 10; ++i) {
    const gpu::Context passing = driver.create_context(1);
    {
      const gpu::CurrentContext there(driver, passing);
      (void)held.on({});
    }
    driver.lose_context(passing);
    EXPECT_LE(held.size(), 2U);
  }
  (void)held.on({});
  EXPECT_EQ(held.size(), 1U);
  EXPECT_EQ(cache.stats().abandoned, 10U);
}

TEST_F(HeldHandlesTest, ACaptureGetsAHandleOfItsOwn) {
  Held held(cache, driver);
  void* const before = held.on(s1);
  libraries.launch(before);
  driver.begin_capture(s1);
  EXPECT_THROW((void)held.on(s1), WouldBuild);
  driver.end_capture(s1);
  cache.prewarm(library::HandleKey(context));
  driver.begin_capture(s1);
  void* const captured = held.on(s1);
  EXPECT_NE(captured, before);
  libraries.launch(captured);
  EXPECT_EQ(static_cast<void*>(held.on(s1)), captured);
  driver.end_capture(s1);
  EXPECT_EQ(static_cast<void*>(held.on(s1)), before);
  libraries.launch(before);
  driver.forget_graphs();
}

TEST_F(HeldHandlesTest, BranchesOfACaptureHaveAHandleEachOnTheirStreams) {
  cache.prewarm(library::HandleKey(context), 2);
  Held held(cache, driver);
  driver.begin_capture(s1);
  driver.join_capture(s2, s1);
  void* const first = held.on(s1);
  void* const second = held.on(s2);
  EXPECT_NE(first, second);
  EXPECT_EQ(libraries.at(first).stream, s1.native());
  EXPECT_EQ(libraries.at(second).stream, s2.native());
  EXPECT_EQ(static_cast<void*>(held.on(s1)), first);
  EXPECT_EQ(static_cast<void*>(held.on(s2)), second);
  driver.end_capture(s2);
  driver.end_capture(s1);
}

TEST_F(HeldHandlesTest, IdleHandlesOfALostContextAreForgottenToo) {
  Held held(cache, driver);
  const gpu::Context passing = driver.create_context(1);
  {
    const gpu::CurrentContext there(driver, passing);
    (void)held.on({});
  }
  cache.prewarm(library::HandleKey(passing), 2);
  driver.lose_context(passing);
  (void)held.on({});
  EXPECT_EQ(cache.stats().idle, 0U);
  EXPECT_EQ(cache.stats().abandoned, 3U);
}

TEST_F(HeldHandlesTest, AThreadThatEndsAfterTheDriverHasGoneCallsNothing) {
  std::vector<std::string> calls;
  {
    Held held(cache, driver);
    (void)held.on(s1);
    driver.lose_context(context);
    driver.set_hook([&](const std::string& member) { calls.push_back(member); });
  }
  driver.set_hook({});
  EXPECT_THAT(calls, testing::IsEmpty());
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(HeldHandlesTest, AFailedRequestLeavesTheThreadAbleToAskAgain) {
  Held held(cache, driver);
  (void)held.on(s1);
  libraries.fail_next("set_stream", 7);
  EXPECT_THROW((void)held.on(s2), Error);
  void* const handle = held.on(s2);
  EXPECT_EQ(libraries.at(handle).stream, s2.native());
  EXPECT_EQ(cache.stats().leased, 2U);
}

TEST_F(HeldHandlesTest, AForkedChildDoesNotGoOnWithItsParentsHandle) {
  Held held(cache, driver);
  void* const parents = held.on(s1);
  const pid_t child = fork();
  if (child == 0) {
    void* const own = held.on(s1);
    const bool good = own != parents && static_cast<void*>(held.on(s1)) == own && driver.violations().empty() &&
                      driver.objects_destroyed() == 0;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(static_cast<void*>(held.on(s1)), parents);
}

TEST_F(HeldHandlesTest, ManyThreadsAtOnceHaveAHandleEach) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      const gpu::CurrentContext here(driver, context);
      Held held(cache, driver);
      const gpu::Stream mine = driver.create_stream();
      for (int i = 0; i < 200; ++i) {
        void* const handle = held.on(i % 50 == 0 ? gpu::Stream{} : mine);
        libraries.launch(handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(driver.objects_created(), 16U);
}

}  // namespace
}  // namespace larder::library_tests
