// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles whose work outlives the lease: never used by another stream, nor destroyed, before that work is ordered before.
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

#include "doubles/fake_clock.hpp"
#include "doubles/fake_device.hpp"
#include "doubles/recording_listener.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;

using doubles::DeviceContext;
using doubles::DeviceHook;
using doubles::DevicePlan;
using doubles::DeviceStream;
using doubles::FakeDevice;
using doubles::StreamPlans;
using testing::HasSubstr;
using testing::IsEmpty;

class StreamTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(device.violations(), IsEmpty()); }

  void run(int size, DeviceStream stream) {
    const auto lease = cache.acquire({context, size}, stream);
    launch(lease, stream);
  }
  void launch(const Lease<StreamPlans>& lease, DeviceStream stream) {
    const doubles::CurrentContext inside(device, (*lease)->context);
    device.launch(**lease, stream);
  }
  void count_calls() {
    *hook = [this](const std::string& member) { ++calls[member]; };
  }

  FakeDevice device;
  DeviceContext context = device.create_context();
  DeviceStream s1 = device.create_stream();
  DeviceStream s2 = device.create_stream();
  std::shared_ptr<DeviceHook> hook = std::make_shared<DeviceHook>();
  std::map<std::string, int> calls;
  HandleCache<StreamPlans> cache{{}, {}, StreamPlans(device, hook)};
};

// The double must notice what it is there to notice.
TEST(FakeDeviceTest, NoticesAUseByTwoStreamsWithoutOrder) {
  FakeDevice device;
  const DeviceContext context = device.create_context();
  const DeviceStream s1 = device.create_stream();
  const DeviceStream s2 = device.create_stream();
  const doubles::CurrentContext inside(device, context);
  doubles::DevicePlan* const plan = device.create_plan(context, 8);
  plan->prepared_for = s1;
  device.launch(*plan, s1);
  const doubles::StreamClock after = *device.record(s1);
  plan->prepared_for = s2;
  device.launch(*plan, s2);
  EXPECT_THAT(device.violations(), testing::ElementsAre(HasSubstr("two streams")));
  device.wait(s1, *device.record(s2));
  plan->prepared_for = s1;
  device.launch(*plan, s1);
  EXPECT_EQ(device.violations().size(), 1U);
  device.synchronize(after);
  device.destroy_plan(*plan);
  EXPECT_THAT(device.violations().back(), HasSubstr("work was pending"));
}

TEST(FakeDeviceTest, NoticesACallOutsideTheContextAndAfterItsLoss) {
  FakeDevice device;
  const DeviceContext context = device.create_context();
  {
    const doubles::CurrentContext inside(device, context);
    (void)device.create_plan(context, 8);
  }
  EXPECT_THAT(device.violations(), IsEmpty());
  (void)device.create_plan(context, 8);
  EXPECT_THAT(device.violations().back(), HasSubstr("with context 0 current"));
  device.lose_context(context);
  const doubles::CurrentContext inside(device, context);
  EXPECT_THAT(device.violations().back(), HasSubstr("after its loss"));
}

TEST_F(StreamTest, ASecondStreamWaitsForTheFirst) {
  run(8, s1);
  count_calls();
  run(8, s2);
  EXPECT_EQ(calls["wait"], 1);
  EXPECT_EQ(device.created(), 1U);
}

TEST_F(StreamTest, TheSameStreamNeedsNoWait) {
  run(8, s1);
  count_calls();
  run(8, s1);
  EXPECT_EQ(calls["wait"], 0);
}

TEST_F(StreamTest, TheHandleIsPreparedForTheStreamOfTheLease) {
  {
    const auto lease = cache.acquire({context, 8}, s1);
    EXPECT_EQ((*lease)->prepared_for, s1);
  }
  const auto lease = cache.acquire({context, 8}, s2);
  EXPECT_EQ((*lease)->prepared_for, s2);
}

TEST_F(StreamTest, EveryDestroyComesAfterTheWork) {
  cache.set_budget({.max_idle = 1});
  run(1, s1);
  run(2, s2);  // evicts 1
  (void)cache.trim(1);
  run(3, s1);
  cache.clear();
  auto lease = cache.acquire({context, 4}, s1);
  launch(lease, s1);
  lease.discard();
  auto deferred = cache.acquire({context, 5}, s1);
  launch(deferred, s1);
  deferred.release_deferred();
  cache.drain();
  cache.clear();
  EXPECT_EQ(device.destroyed(), 5U);
}

TEST_F(StreamTest, AHandleUsedByThreeStreamsInTurnIsOrderedThroughout) {
  const DeviceStream s3 = device.create_stream();
  cache.set_budget({.max_idle = 1});
  for (const DeviceStream stream : {s1, s2, s3, s1, s3, s2}) run(8, stream);
  cache.clear();
  EXPECT_EQ(device.created(), 1U);
}

TEST_F(StreamTest, AStreamGetsTheHandleItUsedLast) {
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan* const of_1 = *on_1;
  const DevicePlan* const of_2 = *on_2;
  on_1.release();
  on_2.release();
  count_calls();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(*cache.acquire({context, 8}, s1), of_1);
    EXPECT_EQ(*cache.acquire({context, 8}, s2), of_2);
  }
  // Another thread remembers nothing and finds them all the same.
  std::thread([&] { EXPECT_EQ(*cache.acquire({context, 8}, s1), of_1); }).join();
  EXPECT_EQ(calls["wait"], 0);
  EXPECT_EQ(cache.stats().hits, 7U);
}

TEST_F(StreamTest, AHandleThatAnotherStreamTookMeanwhileIsAHitReportedOnce) {
  doubles::RecordingListener listener;
  HandleCache<StreamPlans> heard{{.max_idle = 1}, {.listener = &listener}, StreamPlans(device, hook)};
  const auto use = [&](DeviceStream stream) {
    const auto lease = heard.acquire({context, 8}, stream);
    launch(lease, stream);
  };
  use(s1);
  std::thread([&] { use(s2); }).join();
  listener.clear();
  use(s1);  // this thread remembers the handle as s1's
  EXPECT_THAT(listener.events(), testing::ElementsAre("hit size 8 in context 1"));
}

TEST_F(StreamTest, ALeaseWhoseWorkIsDoneGoesBackWithoutItsStream) {
  auto lease = cache.acquire({context, 8}, s1);
  launch(lease, s1);
  device.finish(s1);
  count_calls();
  lease.release_done();
  EXPECT_EQ(calls["record"], 0);
  run(8, s2);
  EXPECT_EQ(calls["wait"], 0);
  EXPECT_EQ(device.created(), 1U);
}

TEST_F(StreamTest, AnAbandonedLeaseMeansTheHandleIsNeitherUsedNorDestroyedAgain) {
  auto lease = cache.acquire({context, 8}, s1);
  launch(lease, s1);
  count_calls();
  lease.abandon();
  EXPECT_FALSE(lease);
  EXPECT_EQ(calls["record"], 0);
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.abandoned, 1U);
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(device.destroyed(), 0U);
}

TEST_F(StreamTest, AnotherStreamGetsAHandleWhoseWorkIsDoneBeforeOneToWaitFor) {
  const DeviceStream s3 = device.create_stream();
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan* const of_2 = *on_2;
  on_1.release();
  on_2.release();
  device.finish(s2);
  count_calls();
  const auto lease = cache.acquire({context, 8}, s3);
  EXPECT_EQ(*lease, of_2);
  EXPECT_EQ(calls["wait"], 0);
  launch(lease, s3);
}

TEST_F(StreamTest, WhenAllWorkGoesOnTheHandleReturnedFirstIsWaitedFor) {
  const DeviceStream s3 = device.create_stream();
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan* const of_1 = *on_1;
  on_1.release();
  on_2.release();
  count_calls();
  const auto lease = cache.acquire({context, 8}, s3);
  EXPECT_EQ(*lease, of_1);
  EXPECT_EQ(calls["wait"], 1);
  launch(lease, s3);
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.misses, 2U);
}

/// A cache whose builds take 100 ns by a clock that stands still otherwise.
class WaitOrBuildTest : public StreamTest {
 protected:
  WaitOrBuildTest() {
    *hook = [this](const std::string& member) {
      ++calls[member];
      if (member == "create") {
        clock.advance(100ns);
        if (fail_creates) throw BuildFailed("fake", 2, "OUT_OF_MEMORY", "size 8");
      }
    };
    run_timed(s1);
    run_timed(s2);  // from here on it is known that streams share the handle
  }
  void run_timed(DeviceStream stream) {
    const auto lease = timed.acquire({context, 8}, stream);
    launch(lease, stream);
  }

  doubles::FakeClock clock;
  bool fail_creates = false;
  HandleCache<StreamPlans> timed{{.max_idle = 2}, {.clock = &clock}, StreamPlans(device, hook)};
};

TEST_F(WaitOrBuildTest, WorkThatWentOnForLessThanABuildIsWaitedFor) {
  clock.advance(99ns);
  run_timed(s1);
  EXPECT_EQ(calls["create"], 1);
  EXPECT_EQ(calls["wait"], 2);
}

TEST_F(WaitOrBuildTest, WorkThatWentOnAsLongAsABuildIsNotWaitedFor) {
  clock.advance(100ns);
  run_timed(s1);
  EXPECT_EQ(calls["create"], 2);
  EXPECT_EQ(calls["wait"], 1);
  const Stats stats = timed.stats();
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.misses, 2U);
  EXPECT_EQ(stats.idle, 2U);
}

TEST_F(WaitOrBuildTest, WorkIsWaitedForWhenTheBudgetWouldNotKeepAnother) {
  timed.set_budget({.max_idle = 1});
  clock.advance(1h);
  run_timed(s1);
  EXPECT_EQ(calls["create"], 1);
  EXPECT_EQ(calls["wait"], 2);
}

TEST_F(WaitOrBuildTest, WorkIsWaitedForWhenTheBuildFails) {
  clock.advance(1h);
  fail_creates = true;
  run_timed(s1);
  EXPECT_EQ(calls["wait"], 2);
  EXPECT_EQ(timed.stats().build_failures, 1U);
  EXPECT_EQ(timed.stats().idle, 1U);
}

TEST_F(WaitOrBuildTest, TryAcquireWaitsRatherThanBuild) {
  clock.advance(1h);
  {
    const auto lease = timed.try_acquire({context, 8}, s1);
    launch(lease, s1);
  }
  EXPECT_EQ(calls["create"], 1);
  EXPECT_EQ(calls["wait"], 2);
}

/// Streams whose work goes into graphs.
class CaptureTest : public StreamTest {
 protected:
  /// What a program does that captures one use of a handle; gives the handle.
  const DevicePlan* capture(int size, DeviceStream stream) {
    device.begin_capture(stream);
    const auto lease = cache.acquire({context, size}, stream);
    device.end_capture(stream);
    return *lease;
  }
};

TEST_F(CaptureTest, AHandleThatAGraphUsesStaysWhateverTheBudget) {
  cache.prewarm({context, 8});
  (void)capture(8, s1);
  cache.set_budget({.max_idle = 0});
  (void)cache.trim(1U << 20);
  (void)cache.trim(Budget::unlimited);
  EXPECT_EQ(device.destroyed(), 0U);
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.idle, 0U);
  EXPECT_EQ(stats.leased, 1U);
  cache.clear();
  EXPECT_EQ(device.destroyed(), 1U);
}

TEST_F(CaptureTest, AHandleThatAGraphUsesServesOnlyTheSameCapture) {
  cache.prewarm({context, 8});
  device.begin_capture(s1);
  const DevicePlan* const of_graph = *cache.acquire({context, 8}, s1);
  EXPECT_EQ(*cache.acquire({context, 8}, s1), of_graph);
  EXPECT_FALSE(cache.try_acquire({context, 8}, s2));
  device.end_capture(s1);
  EXPECT_FALSE(cache.try_acquire({context, 8}, s1));
  device.begin_capture(s1);
  EXPECT_THROW((void)cache.acquire({context, 8}, s1), WouldBuild);
  device.end_capture(s1);
  EXPECT_NE(*cache.acquire({context, 8}, s1), of_graph);
}

TEST_F(CaptureTest, WorkBeforeTheCaptureIsDoneBeforeAGraphMayUseTheHandle) {
  run(8, s1);
  count_calls();
  (void)capture(8, s2);
  EXPECT_EQ(calls["synchronize"], 1);
  EXPECT_EQ(calls["wait"], 0);
  EXPECT_EQ(calls["record"], 0);
}

TEST_F(CaptureTest, AHandleThatAGraphUsesDoesNotCountAsPrewarmed) {
  cache.prewarm({context, 8});
  (void)capture(8, s1);
  cache.prewarm({context, 8});
  EXPECT_EQ(device.created(), 2U);
}

TEST_F(StreamTest, NoBuildWhileTheStreamIsCapturing) {
  device.begin_capture(s1);
  try {
    (void)cache.acquire({context, 8}, s1);
    FAIL() << "no error";
  } catch (const WouldBuild& error) {
    EXPECT_THAT(error.what(), HasSubstr("size 8"));
    EXPECT_THAT(error.what(), HasSubstr("prewarm"));
  }
  EXPECT_EQ(device.created(), 0U);
  cache.prewarm({context, 8});
  EXPECT_TRUE(cache.acquire({context, 8}, s1));
  EXPECT_FALSE(cache.try_acquire({context, 9}, s1));
}

TEST_F(StreamTest, AFailedRecordMeansTheHandleIsAbandonedNotDestroyed) {
  auto lease = cache.acquire({context, 8}, s1);
  launch(lease, s1);
  *hook = [](const std::string& member) {
    if (member == "record") throw std::runtime_error("no event");
  };
  lease.release();
  *hook = nullptr;
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(device.destroyed(), 0U);
}

TEST_F(StreamTest, AFailedWaitGivesTheHandleUp) {
  run(8, s1);
  *hook = [](const std::string& member) {
    if (member == "wait") throw std::runtime_error("no wait");
  };
  EXPECT_THROW((void)cache.acquire({context, 8}, s2), std::runtime_error);
  *hook = nullptr;
  EXPECT_EQ(cache.stats().live, 0U);
  EXPECT_EQ(device.destroyed(), 1U);
}

TEST_F(StreamTest, AFailedSynchronizeMeansTheHandleIsAbandonedNotDestroyed) {
  run(8, s1);
  *hook = [](const std::string& member) {
    if (member == "synchronize") throw std::runtime_error("device lost");
  };
  cache.clear();
  *hook = nullptr;
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(device.destroyed(), 0U);
  EXPECT_EQ(device.created(), device.destroyed() + stats.abandoned);
}

TEST_F(StreamTest, AHandleBuiltInThePlaceOfOneThatCouldNotBeSynchronizedHasNoOldEvent) {
  run(8, s1);
  *hook = [](const std::string& member) {
    if (member == "synchronize") throw std::runtime_error("device lost");
  };
  cache.clear();
  count_calls();
  const DeviceContext other = device.create_context();
  { const auto lease = cache.acquire({other, 8}, s2); }
  EXPECT_EQ(calls["wait"], 0);
  *hook = nullptr;
}

TEST_F(StreamTest, RandomUseOfTwoContextsAndThreeStreamsIsNeverWrong) {
  std::mt19937 random(20240607);
  const std::vector<DeviceContext> contexts{context, device.create_context()};
  const std::vector<DeviceStream> streams{s1, s2, device.create_stream()};
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  cache.set_budget({.max_idle = 3});
  for (int step = 0; step < 100'000; ++step) {
    device.set_current(contexts[pick(2)]);
    const DeviceContext caller = device.current();
    const DeviceStream stream = streams[pick(3)];
    auto lease = cache.acquire({contexts[pick(2)], static_cast<int>(pick(4))}, stream);
    if (pick(8) > 0) launch(lease, stream);
    device.set_current(caller);
    switch (pick(20)) {
      case 0: lease.discard(); break;
      case 1: cache.clear(); break;
      case 2: lease.release_deferred(); break;
      case 3: (void)cache.trim(2); break;
      default: lease.release(); break;
    }
    if (!(device.current() == caller)) ADD_FAILURE() << "step " << step << " changed the caller's context";
  }
  cache.drain();
  cache.clear();
  EXPECT_EQ(device.created(), device.destroyed());
}

}  // namespace
}  // namespace larder::core_tests
