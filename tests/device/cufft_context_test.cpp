// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts, streams and graphs on a real GPU: C30 to C34, C41, and plans that a captured graph uses.
#include <cufft.h>

#include <random>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <larder/fft/cufft.hpp>

#include "device/device_world.hpp"

namespace larder::device_tests {
namespace {

class CufftContextTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    primary = gpu::cuda().current();
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(gpu::cuda().current(), primary);
    }
  }
  [[nodiscard]] static fft::cufft::PlanKey key(std::int64_t n, const gpu::Context& context) {
    return fft::cufft::PlanKey(
        fft::PlanSpec({.lengths = {n}, .precision = fft::Precision::float32, .context = context}));
  }
  static void run(int plan, Complex* in, Complex* out) {
    ASSERT_EQ(
        cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(in), reinterpret_cast<cufftComplex*>(out), CUFFT_FORWARD),
        CUFFT_SUCCESS);
  }

  gpu::Context primary;
};

TEST_F(CufftContextTest, C30OneShapeInTwoContextsIsTwoPlansThatAreNeverCrossed) {
  OwnContext other;
  fft::cufft::PlanCache plans{{.max_idle = 64}};
  const std::vector<Complex> signal = random_signal(1024, 1);
  struct World {
    World(const gpu::Context& context, const std::vector<Complex>& values)
        : inside(gpu::cuda(), context), in(values), out(values.size()) {}
    gpu::CurrentContext inside;  // the members below are made in it
    DeviceArray<Complex> in;
    DeviceArray<Complex> out;
    DeviceStream stream;
  };
  std::vector<Complex> expected;
  {
    World in_primary(primary, signal);
    {
      const auto plan = plans.acquire(key(1024, primary), in_primary.stream);
      run(*plan, in_primary.in.data(), in_primary.out.data());
    }
    in_primary.stream.synchronize();
    expected = in_primary.out.to_host();
  }
  std::mt19937 random(1);
  for (int step = 0; step < 300; ++step) {
    const gpu::Context context = random() % 2 == 0 ? primary : other.get();
    World world(context, signal);
    {
      const auto plan = plans.acquire(key(1024, context), world.stream);
      run(*plan, world.in.data(), world.out.data());
      gpu::cuda().set_current(random() % 2 == 0 ? primary
                                                : other.get());  // C31: the return does not ask what is current
    }
    gpu::cuda().set_current(context);
    world.stream.synchronize();
    ASSERT_LT(relative_error(world.out.to_host(), expected), 1e-5) << "step " << step;
  }
  EXPECT_EQ(plans.stats().builds, 2U);
}

TEST_F(CufftContextTest, C32APlanIsDestroyedInItsContextOnAThreadThatHasNone) {
  OwnContext other;
  fft::cufft::PlanCache plans{{.max_idle = 4}};
  (void)plans.acquire(key(1000, other.get()), gpu::Stream{});
  (void)plans.acquire(key(1000, primary), gpu::Stream{});
  std::thread([&] {
    plans.clear();
    EXPECT_EQ(gpu::cuda().current(), gpu::Context{});
  }).join();
  const Stats stats = plans.stats();
  EXPECT_EQ(stats.destroys, 2U);
  EXPECT_EQ(stats.destroy_failures, 0U);
}

/// cuFFT, were it one of the libraries that leave another context current.
class SwitchingPlans : public fft::cufft::PlanFactory {
 public:
  SwitchingPlans(const gpu::Context& leaves, int& switched) : leaves_(leaves), switched_(&switched) {}
  fft::cufft::Plan create(const fft::cufft::PlanKey& key) {
    fft::cufft::Plan plan = PlanFactory::create(key);
    switch_context();
    return plan;
  }
  void destroy(const fft::cufft::PlanKey& key, fft::cufft::Plan plan) {
    PlanFactory::destroy(key, std::move(plan));
    switch_context();
  }

 private:
  void switch_context() {
    gpu::cuda().set_current(leaves_);
    ++*switched_;
  }
  gpu::Context leaves_;
  int* switched_;
};

TEST_F(CufftContextTest, C33ALibraryThatSwitchesTheContextIsPutRight) {
  OwnContext other;
  int switched = 0;
  HandleCache<SwitchingPlans> plans({.max_idle = 1}, {}, SwitchingPlans(other.get(), switched));
  for (const gpu::Context& context : {primary, other.get()}) {
    gpu::cuda().set_current(primary);
    (void)plans.acquire(key(1000, context), gpu::Stream{});
    EXPECT_EQ(gpu::cuda().current(), primary) << "after a build, and from the second on an eviction";
  }
  std::thread([&] {
    plans.clear();
    EXPECT_EQ(gpu::cuda().current(), gpu::Context{});
  }).join();
  EXPECT_EQ(gpu::cuda().current(), primary);
  EXPECT_EQ(switched, 4);
  EXPECT_EQ(plans.stats().destroy_failures, 0U);
}

TEST_F(CufftContextTest, C34AContextThatIsGoneIsForgottenAlsoByALeaseThatIsOut) {
  OwnContext other;
  fft::cufft::PlanCache plans{{.max_idle = 4}};
  auto lease = plans.acquire(key(1000, other.get()), gpu::Stream{});
  (void)plans.acquire(key(1001, other.get()), gpu::Stream{});
  const gpu::Context gone = other.get();
  other.destroy();
  plans.invalidate(gone);
  lease.release();
  const Stats stats = plans.stats();
  EXPECT_EQ(stats.abandoned, 2U);
  EXPECT_EQ(stats.destroys, 0U);
  EXPECT_EQ(stats.live, 0U);
}

TEST_F(CufftContextTest, AContextThatIsGoneIsNoticedWithoutBeingToldOf) {
  OwnContext other;
  fft::cufft::PlanCache plans{{.max_idle = 4}};
  auto lease = plans.acquire(key(1000, other.get()), gpu::Stream{});
  (void)plans.acquire(key(1001, other.get()), gpu::Stream{});
  other.destroy();
  lease.release();
  plans.clear();
  EXPECT_EQ(plans.stats().abandoned, 2U);
}

TEST_F(CufftContextTest, C41WorkGoesToTheStreamOfTheLease) {
  fft::cufft::PlanCache plans{{.max_idle = 1}};
  const std::vector<Complex> signal = random_signal(1 << 20, 3);
  const DeviceArray<Complex> in(signal);
  const DeviceArray<Complex> out(signal.size());
  const DeviceStream a;
  const DeviceStream b;
  (void)plans.acquire(key(1 << 20, primary), a);
  const auto plan = plans.acquire(key(1 << 20, primary), b);
  // What is captured is what goes to the stream.
  cudaGraph_t graph = nullptr;
  LARDER_CHECK(cudaStreamBeginCapture(b, cudaStreamCaptureModeThreadLocal));
  run(*plan, in.data(), out.data());
  LARDER_CHECK(cudaStreamEndCapture(b, &graph));
  std::size_t nodes = 0;
  LARDER_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_GT(nodes, 0U);
  LARDER_CHECK(cudaGraphDestroy(graph));
}

TEST_F(CufftContextTest, AGraphRunsRightAfterItsPlansWereUsedAndTheBudgetShrank) {
  constexpr std::int64_t n = 1000003;  // needs a work area
  fft::cufft::PlanCache plans{{.max_idle = 4}};
  const std::vector<Complex> signal = random_signal(n, 4);
  const DeviceArray<Complex> in(signal);
  DeviceArray<Complex> out(signal.size());
  const DeviceStream stream;
  {
    const auto plan = plans.acquire(key(n, primary), stream);
    run(*plan, in.data(), out.data());
  }
  stream.synchronize();
  const std::vector<Complex> expected = out.to_host();

  cudaGraph_t graph = nullptr;
  LARDER_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_THROW((void)plans.acquire(key(n + 1, primary), stream), WouldBuild);
  {
    const auto plan = plans.acquire(key(n, primary), stream);
    run(*plan, in.data(), out.data());
  }
  LARDER_CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t runnable = nullptr;
  LARDER_CHECK(cudaGraphInstantiate(&runnable, graph, 0));

  plans.set_budget({.max_idle = 0});
  for (std::int64_t other = n + 1; other < n + 20; ++other) (void)plans.acquire(key(other, primary), stream);
  const DeviceStream elsewhere;
  for (int round = 0; round < 10; ++round) {
    out.clear();
    LARDER_CHECK(cudaGraphLaunch(runnable, elsewhere));
    {
      const auto plan = plans.acquire(key(n, primary), stream);
      const DeviceArray<Complex> scratch(signal.size());
      run(*plan, in.data(), scratch.data());
      stream.synchronize();
    }
    elsewhere.synchronize();
    EXPECT_LT(relative_error(out.to_host(), expected), 1e-5);
  }
  LARDER_CHECK(cudaGraphExecDestroy(runnable));
  LARDER_CHECK(cudaGraphDestroy(graph));
  EXPECT_EQ(plans.stats().leased, 1U);
  plans.clear();
  EXPECT_EQ(plans.stats().live, 0U);
}

TEST_F(CufftContextTest, AStreamAtTheAddressOfADestroyedOneIsAnother) {
  gpu::Driver& driver = gpu::cuda();
  cudaStream_t first = nullptr;
  LARDER_CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  const std::uint64_t id = driver.stream_id(first);
  LARDER_CHECK(cudaStreamDestroy(first));
  cudaStream_t second = nullptr;
  LARDER_CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  EXPECT_NE(driver.stream_id(second), id);
  LARDER_CHECK(cudaStreamDestroy(second));
}

}  // namespace
}  // namespace larder::device_tests
