// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder's side of the comparison with other plan caches on a GPU (hot_cold.py is the other one): some lengths used in
// every step beside some that are used once. One JSON object per line on standard output.
//
//   larder_device_hot_cold CACHE MAX_IDLE HOT COLD       CACHE: larder, larder-lru, or none (a new plan for each request)
//
// Every length is planned once before the clock starts, since the first plan of a kind loads its kernels, which no cache
// can save.
#include <cuda_runtime.h>
#include <cufft.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <larder/fft/cufft.hpp>
#include <larder/gpu/cuda.hpp>

namespace {

using namespace larder;

constexpr int steps = 200;
constexpr std::int64_t first_length = 100000;

void require(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "larder_device_hot_cold: %s\n", what);
  std::exit(1);
}

double used_mib() {
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  return static_cast<double>(total - free) / (1 << 20);
}

/// Counts builds of hot lengths.
class HotBuilds final : public Listener {
 public:
  void on_build(const KeyRef& /*key*/, std::chrono::nanoseconds /*build_cost*/) override { count(); }
  void count() noexcept {
    ++all;
    if (hot_now) ++hot;
  }
  int all = 0;
  int hot = 0;
  bool hot_now = false;
};

}  // namespace

int main(int argc, char** argv) {
  require(argc == 5, "usage: larder_device_hot_cold larder|larder-lru|none MAX_IDLE HOT COLD");
  const std::string cache = argv[1];
  const auto max_idle = static_cast<std::size_t>(std::atoll(argv[2]));
  const std::int64_t hot = std::atoll(argv[3]);
  const std::int64_t cold = std::atoll(argv[4]);
  try {
    gpu::cuda().set_current(gpu::cuda().primary_context(0));
  } catch (const Error& missing) {
    std::fprintf(stderr, "%s\n", missing.what());
    return 1;
  }
  const std::int64_t last = first_length + hot + cold * steps;
  cufftComplex* data = nullptr;
  cudaStream_t stream = nullptr;
  require(
      cudaMalloc(reinterpret_cast<void**>(&data), static_cast<std::size_t>(last) * sizeof(cufftComplex)) == cudaSuccess,
      "no memory");
  require(cudaMemset(data, 0, static_cast<std::size_t>(last) * sizeof(cufftComplex)) == cudaSuccess, "no memory");
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "no stream");
  for (std::int64_t n = first_length; n < last; ++n) {
    int plan = 0;
    require(cufftPlan1d(&plan, static_cast<int>(n), CUFFT_C2C, 1) == CUFFT_SUCCESS, "no plan");
    cufftDestroy(plan);
  }

  HotBuilds builds;
  fft::cufft::PlanCache plans{{.max_idle = max_idle},
                              {.policy = cache == "larder-lru" ? Policy::lru : Policy::value, .listener = &builds}};
  const auto use = [&](std::int64_t n) {
    if (cache == "none") {
      int plan = 0;
      require(cufftPlan1d(&plan, static_cast<int>(n), CUFFT_C2C, 1) == CUFFT_SUCCESS, "no plan");
      cufftSetStream(plan, stream);
      cufftExecC2C(plan, data, data, CUFFT_FORWARD);
      cufftDestroy(plan);
      builds.count();
    } else {
      const auto plan = plans.acquire(
          fft::cufft::PlanKey(fft::PlanSpec::c2c({n}, fft::Direction::forward, fft::Precision::float32)), stream);
      cufftExecC2C(*plan, data, data, CUFFT_FORWARD);
    }
  };
  const double before = used_mib();
  double peak = before;
  const auto start = std::chrono::steady_clock::now();
  std::int64_t unseen = first_length + hot;
  for (int step = 0; step < steps; ++step) {
    builds.hot_now = true;
    for (std::int64_t h = 0; h < hot; ++h) use(first_length + h);
    builds.hot_now = false;
    for (std::int64_t c = 0; c < cold; ++c) use(unseen++);
    peak = std::max(peak, used_mib());
  }
  cudaStreamSynchronize(stream);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  std::printf(
      "{\"cache\":\"%s\",\"max_idle\":%zu,\"hot\":%lld,\"cold\":%lld,\"steps\":%d,\"builds\":%d,\"hot_builds\":%d,"
      "\"wall_ms\":%.1f,\"grew_mib\":%.0f}\n",
      cache.c_str(), max_idle, static_cast<long long>(hot), static_cast<long long>(cold), steps, builds.all, builds.hot,
      wall.count(), peak - before);
  return 0;
}
