// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cuFFT back end: single precision complex transforms on the first device, on its default stream; every plan runs
// once, on arrays that are made once for the longest of them.
#include <complex>
#include <cstddef>
#include <larder/fft/cufft.hpp>
#include <larder/gpu/cuda.hpp>
#include <larder/gpu/current_context.hpp>

#include "backend.hpp"

namespace larder::cli {

namespace {

/// Device memory for as long as it is in scope; the context must be current.
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t bytes) : memory_(gpu::cuda().allocate(bytes)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { gpu::cuda().free_when_idle(memory_); }
  [[nodiscard]] void* data() const noexcept { return memory_; }

 private:
  void* memory_;
};

class CufftBackend final : public Backend {
 public:
  explicit CufftBackend(const BackendSettings& settings)
      : inside_(gpu::cuda(), gpu::cuda().primary_context(0)),
        batch_(settings.batch),
        in_(array_bytes(settings)),
        out_(array_bytes(settings)),
        plans_(settings.cache.budget, watched(settings.cache.options)) {}

  bool use(std::int64_t length) override {
    const fft::PlanSpec spec({.lengths = {length}, .precision = fft::Precision::float32, .batch = batch_});
    const auto plan = plans_.acquire(fft::cufft::PlanKey(spec), gpu::Stream{});
    fft::cufft::execute_untyped(plan, in_.data(), out_.data());
    return build_watch_.take();
  }

  [[nodiscard]] Stats stats() const override { return plans_.stats(); }
  [[nodiscard]] std::uint64_t memory_bytes() const override {
    const gpu::MemoryInfo memory = gpu::cuda().memory();
    return memory.total - memory.free;
  }
  [[nodiscard]] std::string memory_name() const override { return "device memory"; }

 private:
  [[nodiscard]] static std::size_t array_bytes(const BackendSettings& settings) {
    return static_cast<std::size_t>(settings.largest_length * settings.batch) * sizeof(std::complex<float>);
  }
  [[nodiscard]] Options watched(Options options) noexcept {
    options.listener = &build_watch_;
    return options;
  }

  gpu::CurrentContext inside_;
  std::int64_t batch_;
  DeviceArray in_;
  DeviceArray out_;
  BuildWatch build_watch_;
  fft::cufft::PlanCache plans_;
};

}  // namespace

std::unique_ptr<Backend> open_cufft(const BackendSettings& settings) {
  if (settings.wisdom) throw BadArguments("--wisdom is for the fftw back end; cuFFT has none");
  static_cast<void>(largest_array_bytes(settings));
  return std::make_unique<CufftBackend>(settings);
}

}  // namespace larder::cli
