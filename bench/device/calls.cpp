// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one stream-ordered request for a cuFFT plan costs, beside the driver calls that it cannot do without and the
// transform it is for. One thread, on a GPU.
#include <benchmark/benchmark.h>
#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdint>
#include <cstdio>

#include <larder/fft/cufft.hpp>
#include <larder/gpu/cuda.hpp>
#include <larder/gpu/current_context.hpp>
#include <larder/handle_cache.hpp>

namespace {

using namespace larder;

constexpr std::int64_t small = 1024;           // cuFFT needs no work area for it
constexpr std::int64_t with_area = 100003;     // for this one it does
constexpr std::int64_t batch_of_calls = 1000;  // given to a stream before the host waits for it

void require(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "larder_device_calls: %s\n", what);
  std::exit(1);
}

class World {
 public:
  World() {
    require(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) == cudaSuccess, "no stream");
    require(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking) == cudaSuccess, "no stream");
    require(cudaMalloc(reinterpret_cast<void**>(&data), with_area * sizeof(cufftComplex)) == cudaSuccess, "no memory");
    require(cudaMemset(data, 0, with_area * sizeof(cufftComplex)) == cudaSuccess, "no memory");
  }
  cudaStream_t a = nullptr;
  cudaStream_t b = nullptr;
  cufftComplex* data = nullptr;
};

World& world() {
  static World& all = *new World;
  return all;
}

fft::cufft::PlanKey key_of(std::int64_t n) {
  return fft::cufft::PlanKey(fft::PlanSpec::c2c({n}, fft::Direction::forward, fft::Precision::float32));
}

/// Runs the loop, and lets the device catch up now and then, so that no call waits for room in its queue.
template <class Call>
void repeat(benchmark::State& state, Call&& call) {
  std::int64_t given = 0;
  for (auto _ : state) {
    call();
    if (++given % batch_of_calls == 0) {
      state.PauseTiming();
      cudaDeviceSynchronize();
      state.ResumeTiming();
    }
  }
  cudaDeviceSynchronize();
}

/// A handle with the key of a cuFFT plan that costs nothing: what is left is the cache.
struct PlainFactory {
  using Key = fft::cufft::PlanKey;
  using Handle = int;
  int create(const Key&) { return 1; }
  void destroy(const Key&, int) {}
};

void plain_hit(benchmark::State& state) {
  (void)world();
  HandleCache<PlainFactory> cache{{.max_idle = 64}};
  const auto key = key_of(small);
  for (auto _ : state) benchmark::DoNotOptimize(*cache.acquire(key));
}

void record_event(benchmark::State& state) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  repeat(state, [&] { gpu::cuda().record(event, world().a); });
  cudaEventDestroy(event);
}

void wait_for_event(benchmark::State& state) {
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  gpu::cuda().record(event, world().a);
  repeat(state, [&] { gpu::cuda().wait(world().b, event); });
  cudaEventDestroy(event);
}

void ask_stream(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(gpu::cuda().stream_id(world().a));
    benchmark::DoNotOptimize(gpu::cuda().capture_id(world().a));
  }
}

void same_stream(benchmark::State& state) {
  (void)world();
  fft::cufft::PlanCache plans{{.max_idle = 64}};
  const auto key = key_of(state.range(0));
  repeat(state, [&] { benchmark::DoNotOptimize(*plans.acquire(key, world().a)); });
}

void two_streams(benchmark::State& state) {
  (void)world();
  fft::cufft::PlanCache plans{{.max_idle = 1}};  // one plan, which the streams take from each other
  const auto key = key_of(state.range(0));
  bool turn = false;
  repeat(state, [&] {
    turn = !turn;
    benchmark::DoNotOptimize(*plans.acquire(key, turn ? world().a : world().b));
  });
}

void exec(benchmark::State& state) {
  int plan = 0;
  require(cufftPlan1d(&plan, static_cast<int>(state.range(0)), CUFFT_C2C, 1) == CUFFT_SUCCESS, "no plan");
  cufftSetStream(plan, world().a);
  repeat(state, [&] { cufftExecC2C(plan, world().data, world().data, CUFFT_FORWARD); });
  cufftDestroy(plan);
}

void exec_and_wait(benchmark::State& state) {
  int plan = 0;
  require(cufftPlan1d(&plan, static_cast<int>(state.range(0)), CUFFT_C2C, 1) == CUFFT_SUCCESS, "no plan");
  cufftSetStream(plan, world().a);
  for (auto _ : state) {
    cufftExecC2C(plan, world().data, world().data, CUFFT_FORWARD);
    cudaStreamSynchronize(world().a);
  }
  cufftDestroy(plan);
}

void acquire_exec_release(benchmark::State& state) {
  (void)world();
  fft::cufft::PlanCache plans{{.max_idle = 64}};
  const auto key = key_of(state.range(0));
  repeat(state, [&] {
    const auto plan = plans.acquire(key, world().a);
    cufftExecC2C(*plan, world().data, world().data, CUFFT_FORWARD);
  });
}

void create_destroy(benchmark::State& state) {
  for (auto _ : state) {
    int plan = 0;
    require(cufftPlan1d(&plan, static_cast<int>(state.range(0)), CUFFT_C2C, 1) == CUFFT_SUCCESS, "no plan");
    cufftDestroy(plan);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    gpu::cuda().set_current(gpu::cuda().primary_context(0));
  } catch (const Error& missing) {
    std::fprintf(stderr, "%s\n", missing.what());
    return 1;
  }
  benchmark::RegisterBenchmark("plain_hit", plain_hit);
  benchmark::RegisterBenchmark("event_record", record_event);
  benchmark::RegisterBenchmark("event_wait", wait_for_event);
  benchmark::RegisterBenchmark("stream_id_and_capture", ask_stream);
  for (const std::int64_t n : {small, with_area}) {
    benchmark::RegisterBenchmark("acquire_release/same_stream", same_stream)->Arg(n);
    benchmark::RegisterBenchmark("acquire_release/two_streams", two_streams)->Arg(n);
    benchmark::RegisterBenchmark("acquire_exec_release", acquire_exec_release)->Arg(n);
    benchmark::RegisterBenchmark("exec", exec)->Arg(n);
    benchmark::RegisterBenchmark("exec_and_wait", exec_and_wait)->Arg(n);
    benchmark::RegisterBenchmark("create_destroy", create_destroy)->Arg(n);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
