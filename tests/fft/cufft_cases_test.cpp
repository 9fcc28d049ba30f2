// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Published bugs of other caches of cuFFT plans, each as a test (the numbers are those of the list of cases).
#include <array>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <larder/error.hpp>

#include "fft/cufft_world.hpp"

namespace larder::fft::cufft {
namespace {

class CufftCasesTest : public CufftTest {};

TEST_F(CufftCasesTest, C30_PlansOfTwoDevicesAreNeverCrossed) {
  constexpr int operations = 100'000;
  constexpr std::array<std::int64_t, 4> lengths{no_area, 65, small_area, 5009};
  const std::array<gpu::Context, 2> contexts{context, other};
  std::array<std::vector<gpu::Stream>, 2> streams;
  for (std::size_t d = 0; d < 2; ++d) {
    const gpu::CurrentContext here(driver, contexts[d]);
    streams[d] = {gpu::Stream{}, driver.create_stream(), driver.create_stream()};
  }
  make({.max_idle = 6});
  std::mt19937 random(30);
  const auto pick = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  struct Out {
    std::size_t device;
    Lease<PlanFactory> plan;
  };
  std::vector<Out> out;
  int crossed = 0;
  for (int i = 0; i < operations; ++i) {
    switch (pick(8)) {
      case 0: driver.set_current(contexts[pick(2)]); break;
      case 1:
      case 2:
      case 3: {
        if (out.size() >= 4) break;
        // Half of the keys name their context, the others take the current one.
        const std::size_t d = pick(2);
        const std::int64_t length = lengths[pick(lengths.size())];
        if (pick(2) == 0) {
          out.push_back({d, cache->acquire(key(length, contexts[d]), streams[d][pick(3)])});
        } else {
          const std::size_t now = driver.current() == contexts[0] ? 0 : 1;
          const PlanSpec unbound = PlanSpec::c2c({length}, Direction::forward, Precision::float32);
          out.push_back({now, cache->acquire(PlanKey(unbound, driver), streams[now][pick(3)])});
        }
        if (!(cufft.context_of(*out.back().plan) == contexts[out.back().device])) ++crossed;
        break;
      }
      case 4:
        if (pick(50) == 0) (void)cache->trim(pick(1 << 22));
        if (pick(500) == 0) areas->trim();
        break;
      default: {
        if (out.empty()) break;
        const auto which = out.begin() + static_cast<std::ptrdiff_t>(pick(out.size()));
        const gpu::Context before = driver.current();
        run(which->plan);
        if (pick(50) == 0) which->plan.discard();
        out.erase(which);
        if (!(driver.current() == before)) ++crossed;
      }
    }
  }
  out.clear();
  EXPECT_EQ(crossed, 0);
  EXPECT_GT(cache->stats().hits, 1000U);
  EXPECT_EQ(cufft.plans_made(), cache->stats().builds);
  EXPECT_LE(cache->stats().idle, 6U);
}

TEST_F(CufftCasesTest, C31_AReturnUnderAnotherContextGoesHome) {
  auto plan = cache->acquire(key(small_area), s1);
  run(plan);
  const gpu::CurrentContext elsewhere(driver, other);
  plan.release();
  EXPECT_EQ(driver.current(), other);
  EXPECT_TRUE(cache->try_acquire(key(small_area), s1));
  EXPECT_FALSE(cache->try_acquire(key(small_area, other), gpu::Stream{}));
  cache->clear();  // the double notices a destroy outside the maker's context
  EXPECT_EQ(driver.current(), other);
  EXPECT_EQ(cufft.open(), 0U);
}

TEST_F(CufftCasesTest, C32_EveryDestroySeesTheMakersContext) {
  make({.max_idle = 2});
  std::thread([&] {
    EXPECT_TRUE(driver.stack().empty());
    for (std::int64_t i = 0; i < 4; ++i) cache->prewarm(key(no_area + i));  // evicts two
    (void)cache->trim(1);
    cache->clear();
    cache->prewarm(key(small_area));
    const gpu::Stream mine = s1;
    cache->acquire(key(small_area), mine).discard();
    auto plan = cache->acquire(key(small_area), mine);
    cache.reset();
    plan.release();  // destroyed here: the cache has gone
    EXPECT_TRUE(driver.stack().empty());
  }).join();
  EXPECT_EQ(cufft.plans_made(), 6U);
  EXPECT_EQ(cufft.plans_destroyed(), 6U);
}

TEST_F(CufftCasesTest, C33_ALibraryThatSwitchesTheContextIsPutRight) {
  driver.make_library_switch_to(other);
  cache->prewarm(key(no_area));
  EXPECT_EQ(driver.stack(), std::vector<gpu::Context>{context});
  use(small_area, s1);
  EXPECT_EQ(driver.stack(), std::vector<gpu::Context>{context});
  cache->clear();
  EXPECT_EQ(driver.stack(), std::vector<gpu::Context>{context});
  // Made, and then refused: the half-made plan is destroyed in its own context.
  const Callbacks callbacks{.load = {.function = array()}};
  for (const int result : {4, 2}) {
    cufft.fail("cufftXtSetCallback", result);
    if (retryable(result)) cufft.fail("cufftXtSetCallback", result, 2);
    EXPECT_THROW(cache->prewarm(PlanKey(spec(no_area, context), callbacks)), BuildFailed);
    EXPECT_EQ(driver.stack(), std::vector<gpu::Context>{context});
  }
  driver.make_library_switch_to({});
  EXPECT_EQ(cufft.open(), 0U);
}

TEST_F(CufftCasesTest, C34_PlansOfALostContextAreForgotten) {
  const gpu::Context doomed = driver.create_context(1);
  gpu::Stream stream;
  {
    const gpu::CurrentContext here(driver, doomed);
    stream = driver.create_stream();
  }
  cache->prewarm(key(no_area, doomed));
  auto leased = cache->acquire(key(small_area, doomed), stream);
  run(leased);
  cache->prewarm(key(no_area));
  driver.lose_context(doomed);
  cache->invalidate(doomed);
  const std::uint64_t calls = cufft.history().size();
  leased.release();
  EXPECT_EQ(areas->bytes(), 0U) << "the stream's work area went with its context";
  EXPECT_EQ(cufft.history().size(), calls) << "no call reached the library for plans that are gone";
  EXPECT_EQ(cache->stats().abandoned, 2U);
  EXPECT_EQ(cache->stats().idle, 1U);
  abandoned = 2;

  const gpu::Context successor = driver.create_context(1);
  EXPECT_EQ(successor.native, doomed.native);
  EXPECT_FALSE(cache->try_acquire(key(no_area, successor), gpu::Stream{}));
  run(cache->acquire(key(small_area, successor), gpu::Stream{}));
  EXPECT_EQ(cufft.plans_made(), 4U);
  EXPECT_EQ(areas->bytes() > 0, true);
}

TEST_F(CufftCasesTest, C66_TwoShapesInTwoDirectionsAreTwoPlans) {
  for (int call = 0; call < 44; ++call) {
    const Direction direction = call % 2 == 0 ? Direction::forward : Direction::backward;
    const PlanSpec shape({.lengths = {call % 4 < 2 ? 64 : 128, 64},
                          .direction = direction,
                          .precision = Precision::float32,
                          .context = context});
    execute(cache->acquire(PlanKey(shape), s1), array(1), array(2), direction);
  }
  EXPECT_EQ(cache->stats().misses, 2U);
  EXPECT_EQ(cufft.plans_made(), 2U);
}

}  // namespace
}  // namespace larder::fft::cufft
