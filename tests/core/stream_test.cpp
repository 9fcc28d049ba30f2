// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles whose work outlives the lease: never used by another stream, nor destroyed, before that work is ordered before.
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

#include "doubles/device_plans.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/recording_listener.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;

using doubles::ContextPlans;
using doubles::DevicePlan;
using doubles::StreamPlans;
using gpu::Context;
using gpu::Stream;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StreamTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_THAT(driver.violations(), IsEmpty()); }

  void run(int size, Stream stream) {
    const auto lease = cache.acquire({context, size}, stream);
    launch(lease, stream);
  }
  void launch(const Lease<StreamPlans>& lease, Stream stream) { doubles::launch(driver, *lease, stream); }
  void count_calls() {
    driver.set_hook([this](const std::string& member) { ++calls[member]; });
  }

  doubles::SimulatedDriver driver;
  Context context = driver.create_context();
  Stream s1 = doubles::stream_in(driver, context);
  Stream s2 = doubles::stream_in(driver, context);
  std::map<std::string, int> calls;
  HandleCache<StreamPlans> cache{{}, {}, StreamPlans(driver)};
};

// The double must notice what it is there to notice.
TEST(DevicePlansTest, NoticesAUseByTwoStreamsWithoutOrder) {
  doubles::SimulatedDriver driver;
  const Context context = driver.create_context();
  const gpu::CurrentContext inside(driver, context);
  const Stream s1 = driver.create_stream();
  const Stream s2 = driver.create_stream();
  StreamPlans plans(driver);
  const doubles::DevicePlanKey key(context, 8);
  DevicePlan plan = plans.create(key);
  const auto launch = [&](Stream stream) {
    plans.prepare(key, plan, stream, {});
    doubles::launch(driver, plan, stream);
  };
  launch(s1);
  doubles::DeviceEvent after_the_first;
  plans.record(key, after_the_first, s1);
  launch(s2);
  EXPECT_THAT(driver.violations(), ElementsAre(HasSubstr("two streams")));
  doubles::DeviceEvent after_the_second;
  plans.record(key, after_the_second, s2);
  plans.wait(key, s1, after_the_second);
  launch(s1);
  EXPECT_EQ(driver.violations().size(), 1U);
  plans.synchronize(key, after_the_first);
  plans.destroy(key, plan);
  EXPECT_THAT(driver.violations(), testing::Contains(HasSubstr("work is pending")));
}

TEST(DevicePlansTest, NoticesACallOutsideTheContextAndAfterItsLoss) {
  doubles::SimulatedDriver driver;
  const Context context = driver.create_context();
  const Context other = driver.create_context();
  ContextPlans plans(driver);
  const doubles::DevicePlanKey key(context, 8);
  DevicePlan plan;
  {
    const gpu::CurrentContext inside = plans.enter(key);
    plan = plans.create(key);
  }
  EXPECT_THAT(driver.violations(), IsEmpty());
  EXPECT_THROW((void)plans.create(key), gpu::DriverError);
  EXPECT_THAT(driver.violations(), testing::Contains(HasSubstr("without a context")));
  driver.forget_violations();
  driver.push(other);
  (void)plans.create(key);
  EXPECT_THAT(driver.violations(), ElementsAre(HasSubstr("create outside the context of the key")));
  plans.reset(key, plan);
  EXPECT_THAT(driver.violations(), testing::Contains(HasSubstr("with context 2 current")));
  driver.lose_context(context);
  driver.forget_violations();
  EXPECT_THROW((void)plans.enter(key), gpu::DriverError);
  EXPECT_THAT(driver.violations(), ElementsAre("enter of a context after its loss"));
  driver.forget_violations();
  plans.destroy(key, plan);
  EXPECT_THAT(driver.violations(), testing::Contains(HasSubstr("after the loss of its context")));
}

TEST(DevicePlansTest, NoticesAStreamThatThePlanWasNotPreparedFor) {
  doubles::SimulatedDriver driver;
  const Context context = driver.create_context();
  const gpu::CurrentContext inside(driver, context);
  StreamPlans plans(driver);
  const DevicePlan plan = plans.create({context, 8});
  doubles::launch(driver, plan, driver.create_stream());
  EXPECT_THAT(driver.violations(), ElementsAre(HasSubstr("not prepared for")));
}

TEST(DevicePlansTest, NoticesAnEventThatEndsOutsideItsContextOrAfterItsLoss) {
  doubles::SimulatedDriver driver;
  const Context context = driver.create_context();
  const Stream stream = doubles::stream_in(driver, context);
  StreamPlans plans(driver);
  const doubles::DevicePlanKey key(context, 8);
  std::optional<doubles::DeviceEvent> event(std::in_place);
  plans.record(key, *event, stream);
  {
    const gpu::CurrentContext inside = plans.enter(key);
    event.reset();
  }
  EXPECT_THAT(driver.violations(), IsEmpty());
  plans.record(key, event.emplace(), stream);
  event.reset();
  EXPECT_THAT(driver.violations(), ElementsAre("event destroyed outside its context"));
  plans.record(key, event.emplace(), stream);
  const gpu::CurrentContext inside = plans.enter(key);
  driver.lose_context(context);
  event.reset();
  EXPECT_EQ(driver.violations().size(), 2U);
}

TEST_F(StreamTest, ASecondStreamWaitsForTheFirst) {
  run(8, s1);
  count_calls();
  run(8, s2);
  EXPECT_EQ(calls["wait"], 1);
  EXPECT_EQ(driver.objects_created(), 1U);
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
    EXPECT_EQ(lease->prepared_for, s1);
  }
  const auto lease = cache.acquire({context, 8}, s2);
  EXPECT_EQ(lease->prepared_for, s2);
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
  EXPECT_EQ(driver.objects_destroyed(), 5U);
}

TEST_F(StreamTest, AHandleUsedByThreeStreamsInTurnIsOrderedThroughout) {
  const Stream s3 = doubles::stream_in(driver, context);
  cache.set_budget({.max_idle = 1});
  for (const Stream stream : {s1, s2, s3, s1, s3, s2}) run(8, stream);
  cache.clear();
  EXPECT_EQ(driver.objects_created(), 1U);
}

TEST_F(StreamTest, AStreamGetsTheHandleItUsedLast) {
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan of_1 = *on_1;
  const DevicePlan of_2 = *on_2;
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
  HandleCache<StreamPlans> heard{{.max_idle = 1}, {.listener = &listener}, StreamPlans(driver)};
  const auto use = [&](Stream stream) {
    const auto lease = heard.acquire({context, 8}, stream);
    launch(lease, stream);
  };
  use(s1);
  std::thread([&] { use(s2); }).join();
  listener.clear();
  use(s1);  // this thread remembers the handle as s1's
  EXPECT_THAT(listener.events(), ElementsAre("hit size 8 in context 1"));
}

TEST_F(StreamTest, ALeaseWhoseWorkIsDoneGoesBackWithoutItsStream) {
  auto lease = cache.acquire({context, 8}, s1);
  launch(lease, s1);
  driver.finish(s1);
  count_calls();
  lease.release_done();
  EXPECT_EQ(calls["record"], 0);
  run(8, s2);
  EXPECT_EQ(calls["wait"], 0);
  EXPECT_EQ(driver.objects_created(), 1U);
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
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(StreamTest, AnotherStreamGetsAHandleWhoseWorkIsDoneBeforeOneToWaitFor) {
  const Stream s3 = doubles::stream_in(driver, context);
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan of_2 = *on_2;
  on_1.release();
  on_2.release();
  driver.finish(s2);
  count_calls();
  const auto lease = cache.acquire({context, 8}, s3);
  EXPECT_EQ(*lease, of_2);
  EXPECT_EQ(calls["wait"], 0);
  launch(lease, s3);
}

TEST_F(StreamTest, WhenAllWorkGoesOnTheHandleReturnedFirstIsWaitedFor) {
  const Stream s3 = doubles::stream_in(driver, context);
  auto on_1 = cache.acquire({context, 8}, s1);
  auto on_2 = cache.acquire({context, 8}, s2);
  launch(on_1, s1);
  launch(on_2, s2);
  const DevicePlan of_1 = *on_1;
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
    driver.set_hook([this](const std::string& member) {
      ++calls[member];
      if (member == "create_object") {
        clock.advance(100ns);
        if (fail_creates) throw BuildFailed("fake", 2, "OUT_OF_MEMORY", "size 8");
      }
    });
    run_timed(s1);
    run_timed(s2);  // from here on it is known that streams share the handle
  }
  void run_timed(Stream stream) {
    const auto lease = timed.acquire({context, 8}, stream);
    launch(lease, stream);
  }

  doubles::FakeClock clock;
  bool fail_creates = false;
  HandleCache<StreamPlans> timed{{.max_idle = 2}, {.clock = &clock}, StreamPlans(driver)};
};

TEST_F(WaitOrBuildTest, WorkThatWentOnForLessThanABuildIsWaitedFor) {
  clock.advance(99ns);
  run_timed(s1);
  EXPECT_EQ(calls["create_object"], 1);
  EXPECT_EQ(calls["wait"], 2);
}

TEST_F(WaitOrBuildTest, WorkThatWentOnAsLongAsABuildIsNotWaitedFor) {
  clock.advance(100ns);
  run_timed(s1);
  EXPECT_EQ(calls["create_object"], 2);
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
  EXPECT_EQ(calls["create_object"], 1);
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
  EXPECT_EQ(calls["create_object"], 1);
  EXPECT_EQ(calls["wait"], 2);
}

/// Streams whose work goes into graphs.
class CaptureTest : public StreamTest {
 protected:
  /// What a program does that captures one use of a handle; gives the handle.
  DevicePlan capture(int size, Stream stream) {
    driver.begin_capture(stream);
    const auto lease = cache.acquire({context, size}, stream);
    driver.end_capture(stream);
    return *lease;
  }
};

TEST_F(CaptureTest, AHandleThatAGraphUsesStaysWhateverTheBudget) {
  cache.prewarm({context, 8});
  (void)capture(8, s1);
  cache.set_budget({.max_idle = 0});
  (void)cache.trim(1U << 20);
  (void)cache.trim(Budget::unlimited);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.idle, 0U);
  EXPECT_EQ(stats.leased, 1U);
  cache.clear();
  EXPECT_EQ(driver.objects_destroyed(), 1U);
}

TEST_F(CaptureTest, AHandleThatAGraphUsesServesOnlyTheSameCapture) {
  cache.prewarm({context, 8});
  driver.begin_capture(s1);
  const DevicePlan of_graph = *cache.acquire({context, 8}, s1);
  EXPECT_EQ(*cache.acquire({context, 8}, s1), of_graph);
  EXPECT_FALSE(cache.try_acquire({context, 8}, s2));
  driver.end_capture(s1);
  EXPECT_FALSE(cache.try_acquire({context, 8}, s1));
  driver.begin_capture(s1);
  EXPECT_THROW((void)cache.acquire({context, 8}, s1), WouldBuild);
  driver.end_capture(s1);
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
  EXPECT_EQ(driver.objects_created(), 2U);
}

TEST_F(StreamTest, NoBuildWhileTheStreamIsCapturing) {
  driver.begin_capture(s1);
  try {
    (void)cache.acquire({context, 8}, s1);
    FAIL() << "no error";
  } catch (const WouldBuild& error) {
    EXPECT_THAT(error.what(), HasSubstr("size 8"));
    EXPECT_THAT(error.what(), HasSubstr("prewarm"));
  }
  EXPECT_EQ(driver.objects_created(), 0U);
  cache.prewarm({context, 8});
  EXPECT_TRUE(cache.acquire({context, 8}, s1));
  EXPECT_FALSE(cache.try_acquire({context, 9}, s1));
}

TEST_F(StreamTest, AFailedRecordMeansTheHandleIsAbandonedNotDestroyed) {
  auto lease = cache.acquire({context, 8}, s1);
  launch(lease, s1);
  driver.set_hook([](const std::string& member) {
    if (member == "record") throw std::runtime_error("no event");
  });
  lease.release();
  driver.set_hook({});
  EXPECT_EQ(cache.stats().abandoned, 1U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
}

TEST_F(StreamTest, AFailedWaitGivesTheHandleUp) {
  run(8, s1);
  driver.set_hook([](const std::string& member) {
    if (member == "wait") throw std::runtime_error("no wait");
  });
  EXPECT_THROW((void)cache.acquire({context, 8}, s2), std::runtime_error);
  driver.set_hook({});
  EXPECT_EQ(cache.stats().live, 0U);
  EXPECT_EQ(driver.objects_destroyed(), 1U);
}

TEST_F(StreamTest, AFailedSynchronizeMeansTheHandleIsAbandonedNotDestroyed) {
  run(8, s1);
  driver.set_hook([](const std::string& member) {
    if (member == "synchronize") throw std::runtime_error("device lost");
  });
  cache.clear();
  driver.set_hook({});
  const Stats stats = cache.stats();
  EXPECT_EQ(stats.live, 0U);
  EXPECT_EQ(driver.objects_destroyed(), 0U);
  EXPECT_EQ(driver.objects_created(), driver.objects_destroyed() + stats.abandoned);
}

TEST_F(StreamTest, AHandleBuiltInThePlaceOfOneThatCouldNotBeSynchronizedHasNoOldEvent) {
  run(8, s1);
  driver.set_hook([](const std::string& member) {
    if (member == "synchronize") throw std::runtime_error("device lost");
  });
  cache.clear();
  count_calls();
  const Context other = driver.create_context();
  { const auto lease = cache.acquire({other, 8}, doubles::stream_in(driver, other)); }
  EXPECT_EQ(calls["wait"], 0);
  driver.set_hook({});
}

TEST_F(StreamTest, RandomUseOfTwoContextsAndThreeStreamsIsNeverWrong) {
  std::mt19937 random(20240607);
  const std::vector<Context> contexts{context, driver.create_context()};
  std::vector<std::vector<Stream>> streams{{s1, s2}, {}};
  for (std::size_t c = 0; c < 2; ++c) {
    while (streams[c].size() < 3) streams[c].push_back(doubles::stream_in(driver, contexts[c]));
  }
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  cache.set_budget({.max_idle = 3});
  for (int step = 0; step < 100'000; ++step) {
    driver.set_current(contexts[pick(2)]);
    const Context caller = driver.current();
    const std::size_t of = pick(2);
    const Stream stream = streams[of][pick(3)];
    auto lease = cache.acquire({contexts[of], static_cast<int>(pick(4))}, stream);
    if (pick(8) > 0) launch(lease, stream);
    driver.set_current(caller);
    switch (pick(20)) {
      case 0: lease.discard(); break;
      case 1: cache.clear(); break;
      case 2: lease.release_deferred(); break;
      case 3: (void)cache.trim(2); break;
      default: lease.release(); break;
    }
    if (!(driver.current() == caller)) ADD_FAILURE() << "step " << step << " changed the caller's context";
  }
  cache.drain();
  cache.clear();
  EXPECT_EQ(driver.objects_created(), driver.objects_destroyed());
}

}  // namespace
}  // namespace larder::core_tests
