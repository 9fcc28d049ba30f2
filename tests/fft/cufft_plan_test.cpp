// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuFFT plans are made and destroyed: what reaches the library, what happens when one of its calls fails, and what a
// plan counts for.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <larder/error.hpp>

#include "doubles/recording_listener.hpp"
#include "fft/cufft_world.hpp"

namespace larder::fft::cufft {
namespace {

using doubles::CallbackCall;
using doubles::MakePlanCall;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kib = 1024;

class CufftPlanTest : public CufftTest {
 protected:
  ~CufftPlanTest() override { cache.reset(); }  // before its listener
  [[nodiscard]] int failures_told() const {
    int told = 0;
    for (const std::string& event : listener.events()) told += event.starts_with("build failed ") ? 1 : 0;
    return told;
  }
  PlanParameters parameters(std::vector<std::int64_t> lengths, Kind kind, Precision precision) const {
    PlanParameters p;
    p.lengths = std::move(lengths);
    p.kind = kind;
    p.precision = precision;
    p.context = context;
    return p;
  }
  MakePlanCall made_for(const PlanParameters& p) {
    cache->prewarm(PlanKey(PlanSpec(p)));
    return cufft.made().back();
  }

  doubles::RecordingListener listener;
};

std::vector<std::byte> code(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

void* address(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

TEST_F(CufftPlanTest, IsMadeWithTheFewestCalls) {
  use(no_area, s1);
  EXPECT_THAT(cufft.history(), ElementsAre("cufftCreate", "cufftSetAutoAllocation", "cufftXtMakePlanMany",
                                           "cufftSetStream", "cufftExecC2C"));
}

TEST_F(CufftPlanTest, PackedLayoutsAreNotSpelledOut) {
  EXPECT_EQ(made_for(parameters({6, 5, 4}, Kind::c2c, Precision::float32)),
            (MakePlanCall{{6, 5, 4}, {}, 1, 120, 4, {}, 1, 120, 4, 1, 4}));
  PlanParameters p = parameters({6, 8}, Kind::r2c, Precision::float64);
  p.batch = 3;
  EXPECT_EQ(made_for(p), (MakePlanCall{{6, 8}, {}, 1, 48, 1, {}, 1, 30, 5, 3, 5}));
  p.kind = Kind::c2r;
  EXPECT_EQ(made_for(p), (MakePlanCall{{6, 8}, {}, 1, 30, 5, {}, 1, 48, 1, 3, 5}));
}

TEST_F(CufftPlanTest, RealRowsAreEmbeddedInPaddedOnesInPlace) {
  PlanParameters p = parameters({3, 8}, Kind::r2c, Precision::float32);
  p.placement = Placement::in_place;
  p.batch = 2;
  EXPECT_EQ(made_for(p), (MakePlanCall{{3, 8}, {{3, 10}}, 1, 30, 0, {{3, 5}}, 1, 15, 4, 2, 4}));
  p.kind = Kind::c2r;
  EXPECT_EQ(made_for(p), (MakePlanCall{{3, 8}, {{3, 5}}, 1, 15, 4, {{3, 10}}, 1, 30, 0, 2, 4}));
}

TEST_F(CufftPlanTest, StridesReachTheLibraryAsEmbeddings) {
  PlanParameters p = parameters({4, 3, 2}, Kind::c2c, Precision::float16);
  p.batch = 7;
  p.input = {.strides = {60, 12, 3}, .distance = 1000};
  p.output = {.embed = {5, 4, 3}, .stride = 2, .distance = 500};
  EXPECT_EQ(made_for(p), (MakePlanCall{{4, 3, 2}, {{4, 5, 4}}, 3, 1000, 6, {{4, 4, 3}}, 2, 500, 6, 7, 6}));
  // Columns of a row-major 10 x 6 array.
  PlanParameters columns = parameters({10}, Kind::c2c, Precision::float64);
  columns.batch = 6;
  columns.input = columns.output = {.stride = 6, .distance = 1};
  EXPECT_EQ(made_for(columns), (MakePlanCall{{10}, {{10}}, 6, 1, 5, {{10}}, 6, 1, 5, 6, 5}));
}

TEST_F(CufftPlanTest, SizesBeyond32BitsReachTheLibrary) {
  const std::int64_t length = std::int64_t{1} << 33;
  PlanParameters p = parameters({length}, Kind::c2c, Precision::float32);
  p.input = p.output = {.stride = 2};
  EXPECT_EQ(made_for(p), (MakePlanCall{{length}, {{length}}, 2, 2 * length, 4, {{length}}, 2, 2 * length, 4, 1, 4}));
}

TEST_F(CufftPlanTest, C63_StridesOfTwoPlansInTurn) {
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t stride : {4, 8}) {
      PlanParameters p = parameters({16}, Kind::c2c, Precision::float32);
      p.input = {.stride = stride};
      EXPECT_EQ(made_for(p), (MakePlanCall{{16}, {{16}}, stride, 16 * stride, 4, {{16}}, 1, 16, 4, 1, 4}));
      cache->clear();
    }
  }
  EXPECT_EQ(cufft.plans_made(), 4U);
}

TEST_F(CufftPlanTest, C65_MeaninglessSizesNeverReachTheLibrary) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 61}) {
    EXPECT_THROW(cache->prewarm(PlanKey(PlanSpec(parameters({length, 8}, Kind::c2c, Precision::float32)))),
                 InvalidSpec);
  }
  EXPECT_THROW(cache->prewarm(PlanKey(PlanSpec(parameters({1, 1, 1, 1}, Kind::c2c, Precision::float32)))), InvalidSpec);
  EXPECT_THAT(cufft.history(), testing::IsEmpty());
}

TEST_F(CufftPlanTest, LtoCallbacksComeBeforeThePlanAndLiveWithIt) {
  const auto plan = [&] {
    // The caller's own copies are gone when the plan runs.
    const Callbacks callbacks{.load = {.name = "load", .code = code("LTO-IR"), .caller_info = address(0x20)},
                              .store = {.name = "store", .code = code("more"), .shared_bytes = 64}};
    return cache->acquire(PlanKey(spec(no_area, context), callbacks), s1);
  }();
  run(plan);
  EXPECT_THAT(cufft.history(),
              ElementsAre("cufftCreate", "cufftSetAutoAllocation", "cufftXtSetJITCallback", "cufftXtSetJITCallback",
                          "cufftXtMakePlanMany", "cufftXtSetCallbackSharedSize", "cufftSetStream", "cufftExecC2C"));
  EXPECT_THAT(cufft.callbacks_of(*plan), ElementsAre(CallbackCall{0, nullptr, "load", "LTO-IR", address(0x20), 0},
                                                     CallbackCall{4, nullptr, "store", "more", nullptr, 64}));
}

TEST_F(CufftPlanTest, LegacyCallbacksComeAfterThePlan) {
  const Callbacks callbacks{.load = {.function = address(0x10), .caller_info = address(0x20), .shared_bytes = 64},
                            .store = {.function = address(0x30)}};
  const auto plan = cache->acquire(PlanKey(spec(no_area, context), callbacks), s1);
  EXPECT_THAT(cufft.history(),
              ElementsAre("cufftCreate", "cufftSetAutoAllocation", "cufftXtMakePlanMany", "cufftXtSetCallback",
                          "cufftXtSetCallbackSharedSize", "cufftXtSetCallback", "cufftSetStream"));
  EXPECT_THAT(cufft.callbacks_of(*plan), ElementsAre(CallbackCall{0, address(0x10), "", "", address(0x20), 64},
                                                     CallbackCall{4, address(0x30), "", "", nullptr, 0}));
}

TEST_F(CufftPlanTest, CallbacksGetTheTypeOfTheirSide) {
  const Callbacks callbacks{.load = {.function = address(0x10)}, .store = {.function = address(0x30)}};
  const auto types = [&](Kind kind, Precision precision) {
    const auto plan = cache->acquire(PlanKey(PlanSpec(parameters({8}, kind, precision)), callbacks), s1);
    std::vector<int> found;
    for (const CallbackCall& call : cufft.callbacks_of(*plan)) found.push_back(call.type);
    return found;
  };
  EXPECT_THAT(types(Kind::c2c, Precision::float32), ElementsAre(0, 4));
  EXPECT_THAT(types(Kind::c2c, Precision::float64), ElementsAre(1, 5));
  EXPECT_THAT(types(Kind::r2c, Precision::float32), ElementsAre(2, 4));
  EXPECT_THAT(types(Kind::r2c, Precision::float64), ElementsAre(3, 5));
  EXPECT_THAT(types(Kind::c2r, Precision::float32), ElementsAre(0, 6));
  EXPECT_THAT(types(Kind::c2r, Precision::float64), ElementsAre(1, 7));
}

TEST_F(CufftPlanTest, AnOldLibraryHasNoLtoCallbacks) {
  cufft.remove_jit_callbacks();
  try {
    cache->prewarm(PlanKey(spec(no_area, context), {.load = {.name = "f", .code = code("x")}}));
    ADD_FAILURE() << "made";
  } catch (const BuildFailed& error) {
    EXPECT_EQ(error.code_name(), "CUFFT_NOT_IMPLEMENTED");
  }
  EXPECT_EQ(cufft.open(), 0U);
}

// --- Failures --------------------------------------------------------------------------------------------------------

/// Every call that makes a plan.
class CufftFailures : public CufftPlanTest, public testing::WithParamInterface<std::string> {
 protected:
  /// A plan that needs them all.
  [[nodiscard]] PlanKey demanding() const {
    return PlanKey(spec(no_area, context), {.load = {.function = address(0x10), .shared_bytes = 8},
                                            .store = {.name = "store", .code = code("x")}});
  }
  [[nodiscard]] std::uint64_t half_made() const { return GetParam() == "cufftCreate" ? 0 : 1; }
};

TEST_P(CufftFailures, C07_C08_NothingIsLeftAndItIsToldOnce) {
  make({}, {.listener = &listener});
  cache->prewarm(key(small_area));
  cufft.fail(GetParam(), 4);
  try {
    (void)cache->acquire(demanding(), s1);
    ADD_FAILURE() << "made";
  } catch (const BuildFailed& error) {
    EXPECT_EQ(error.backend(), "cufft");
    EXPECT_EQ(error.code(), 4);
    EXPECT_EQ(error.code_name(), "CUFFT_INVALID_VALUE");
    EXPECT_EQ(error.key(), demanding().describe());
    EXPECT_EQ(error.retry(), Retry::no);
  }
  EXPECT_EQ(cufft.open(), 1U);
  EXPECT_EQ(cufft.calls("cufftDestroy"), half_made());
  EXPECT_EQ(cache->stats().idle, 1U) << "no shortage of memory, so nothing was given up";
  EXPECT_EQ(cache->stats().build_failures, 1U);
  EXPECT_EQ(failures_told(), 1);
  EXPECT_TRUE(cache->acquire(demanding(), s1));
}

TEST_P(CufftFailures, C06_AShortageOfMemoryGivesUpIdlePlansAndTriesOnceMore) {
  for (const int result : {2, 5, 7}) {
    make();
    use(small_area, s1);
    use(no_area, s1);
    driver.finish(s1);
    EXPECT_GT(areas->bytes(), 0U);
    const std::uint64_t destroys_before = cufft.calls("cufftDestroy");
    cufft.fail(GetParam(), result);
    EXPECT_TRUE(cache->acquire(demanding(), s1)) << result;
    EXPECT_EQ(cufft.calls("cufftDestroy"), destroys_before + half_made() + 2) << result;
    EXPECT_EQ(areas->bytes(), 0U) << result;
    EXPECT_EQ(cache->stats().live, 1U) << result;
  }
}

TEST_P(CufftFailures, ASecondFailureIsTheCallers) {
  make({}, {.listener = &listener});
  cufft.fail(GetParam(), 2, 1);
  cufft.fail(GetParam(), 2, 2);
  try {
    (void)cache->acquire(demanding(), s1);
    ADD_FAILURE() << "made";
  } catch (const BuildFailed& error) {
    EXPECT_EQ(error.code_name(), "CUFFT_ALLOC_FAILED");
  }
  EXPECT_EQ(cufft.open(), 0U);
  EXPECT_EQ(cufft.calls("cufftDestroy"), 2 * half_made());
  EXPECT_EQ(failures_told(), 2) << "once for each create that failed";
}

INSTANTIATE_TEST_SUITE_P(At, CufftFailures,
                         testing::Values("cufftCreate", "cufftSetAutoAllocation", "cufftXtSetJITCallback",
                                         "cufftXtMakePlanMany", "cufftXtSetCallback", "cufftXtSetCallbackSharedSize"),
                         [](const auto& function) { return function.param; });

TEST_F(CufftPlanTest, AFullDeviceIsEmptiedOfIdlePlans) {
  make({.max_idle = Budget::unlimited});
  // Plans that take a tenth of the device each.
  const std::int64_t length = (std::int64_t{1} << 30) / 33 / 8 + 1;
  for (std::int64_t i = 0; i < 15; ++i) cache->prewarm(key(length + i * 2));
  EXPECT_EQ(cufft.plans_made(), 15U);
  EXPECT_EQ(cache->stats().build_failures, 1U);
  EXPECT_LT(cache->stats().idle, 10U);
}

TEST_F(CufftPlanTest, ADeviceThatDoesNotTellItsMemoryLeavesNoPlan) {
  for (const int nth : {1, 2}) {
    int calls = 0;
    driver.set_hook([&](const std::string& member) {
      if (member == "memory" && ++calls == nth)
        throw gpu::DriverError("cuMemGetInfo", 700, "CUDA_ERROR_ILLEGAL_ADDRESS");
    });
    EXPECT_THROW((void)cache->acquire(key(no_area), s1), gpu::DriverError);
    EXPECT_EQ(cufft.open(), 0U);
  }
  driver.set_hook({});
}

TEST_F(CufftPlanTest, AFailedDestroyIsCountedAndTold) {
  make({}, {.listener = &listener});
  cache->prewarm(key(no_area));
  cufft.fail("cufftDestroy", 5);
  cache->clear();
  EXPECT_EQ(cache->stats().destroy_failures, 1U);
  EXPECT_THAT(listener.events().back(), HasSubstr("cufftDestroy failed: CUFFT_INTERNAL_ERROR (5); the plan is c2c 64"));
}

TEST_F(CufftPlanTest, APlanThatCannotBePreparedIsDestroyedAndLeavesItsArea) {
  for (const char* const function : {"cufftSetStream", "cufftSetWorkArea"}) {
    cufft.fail(function, 1);
    try {
      (void)cache->acquire(key(small_area), s1);
      ADD_FAILURE() << "prepared";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), StartsWith("cufft: " + std::string(function) + " failed: CUFFT_INVALID_PLAN (1)"));
    }
    EXPECT_EQ(cufft.open(), 0U);
    areas->trim();
    EXPECT_EQ(areas->bytes(), 0U);
  }
}

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST_F(CufftPlanTest, PlansCountForWhatTheyTakeWithoutTheirWorkAreas) {
  make({.max_idle = Budget::unlimited});
  const std::size_t before = driver.memory_in_use();
  for (std::int64_t i = 0; i < 100; ++i) cache->prewarm(key(50021 + 10 * i + (i % 2 == 0 ? 0 : 2)));
  const auto grown = static_cast<double>(driver.memory_in_use() - before);
  EXPECT_NEAR(static_cast<double>(cache->stats().idle_bytes), grown, 0.15 * grown);
}

TEST_F(CufftPlanTest, APlanOfNextToNothingCountsFor48KiB) {
  cache->prewarm(key(no_area));
  EXPECT_GE(cache->stats().idle_bytes, 48 * kib);
  EXPECT_LT(cache->stats().idle_bytes, 52 * kib);
}

TEST_F(CufftPlanTest, NothingIsLearnedWhereDestroyedPlansLeftRoom) {
  for (std::int64_t i = 0; i < 3; ++i) cache->prewarm(key(no_area + i));
  const std::size_t before = cache->stats().idle_bytes;
  cache->clear();
  std::vector<void*> others;
  driver.set_hook([&](const std::string& member) {
    if (member == "create_object") others.push_back(driver.allocate(3000 * kib));
  });
  for (std::int64_t i = 0; i < 3; ++i) cache->prewarm(key(no_area + i));
  EXPECT_NEAR(static_cast<double>(cache->stats().idle_bytes), static_cast<double>(before), 4 * kib);
  driver.set_hook({});
  for (void* const memory : others) driver.free_when_idle(memory);
}

TEST_F(CufftPlanTest, TheByteBudgetHolds) {
  make({.max_idle = Budget::unlimited, .max_idle_bytes = 1000 * kib});
  for (std::int64_t i = 0; i < 100; ++i) {
    use(no_area + i, s1);
    EXPECT_LE(cache->stats().idle_bytes, 1000 * kib);
  }
  EXPECT_GE(cache->stats().idle, 15U);
  EXPECT_LE(driver.memory_in_use(), 2000 * kib);
}

TEST_F(CufftPlanTest, SixtyFourPlansAreKeptUnlessTold) {
  for (std::int64_t i = 0; i < 100; ++i) cache->prewarm(key(no_area + i));
  EXPECT_EQ(cache->stats().idle, 64U);
}

}  // namespace
}  // namespace larder::fft::cufft
