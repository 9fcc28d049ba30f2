// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests on a real GPU share: streams, arrays and contexts that clean up after themselves.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <larder/gpu/cuda.hpp>

namespace larder::device_tests {

inline void check(cudaError_t result, const char* call) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(result));
}
#define LARDER_CHECK(CALL) ::larder::device_tests::check(CALL, #CALL)

/// A function of the driver API as it was in that CUDA version (1000 * major + 10 * minor); the runtime finds it, so that the
/// program starts without a driver.
template <class Function>
Function* driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult why{};
  LARDER_CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &why));
  if (found == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function*>(found);
}

using Complex = std::complex<float>;

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) { LARDER_CHECK(cudaMalloc(&data_, size * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    LARDER_CHECK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { (void)cudaFree(data_); }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(data_); }
  [[nodiscard]] std::vector<T> to_host() const {
    std::vector<T> values(size_);
    LARDER_CHECK(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  void clear() { LARDER_CHECK(cudaMemset(data_, 0, size_ * sizeof(T))); }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

class DeviceStream {
 public:
  DeviceStream() { LARDER_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream() { (void)cudaStreamDestroy(stream_); }
  operator cudaStream_t() const noexcept { return stream_; }  // NOLINT(google-explicit-constructor)
  operator gpu::Stream() const noexcept { return stream_; }   // NOLINT(google-explicit-constructor)
  void synchronize() const { LARDER_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A context besides the primary one.
class OwnContext {
 public:
  OwnContext() {
    const gpu::Context before = gpu::cuda().current();
    const auto create = driver_function<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate", 3020);
    CUcontext made = nullptr;
    if (create(&made, 0, 0) != CUDA_SUCCESS) throw std::runtime_error("cuCtxCreate failed");
    context_ = gpu::cuda().current();
    gpu::cuda().set_current(before);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext() { destroy(); }
  void destroy() {
    if (context_.native == nullptr) return;
    (void)driver_function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(static_cast<CUcontext>(context_.native));
    context_ = {};
  }
  [[nodiscard]] const gpu::Context& get() const noexcept { return context_; }

 private:
  gpu::Context context_;
};

/// All of the device's memory that is to be had, down to pieces of 1 MiB.
class FullCard {
 public:
  FullCard() {
    for (std::size_t piece = std::size_t{1} << 36; piece >= (std::size_t{1} << 20);) {
      void* taken = nullptr;
      if (cudaMalloc(&taken, piece) == cudaSuccess) {
        taken_.push_back(taken);
      } else {
        (void)cudaGetLastError();
        piece /= 2;
      }
    }
  }
  FullCard(const FullCard&) = delete;
  FullCard& operator=(const FullCard&) = delete;
  ~FullCard() {
    for (void* const taken : taken_) (void)cudaFree(taken);
  }

 private:
  std::vector<void*> taken_;
};

inline std::vector<Complex> random_signal(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> part(-1, 1);
  std::vector<Complex> signal(size);
  std::generate(signal.begin(), signal.end(), [&] { return Complex(part(random), part(random)); });
  return signal;
}

/// |a - b| / |b| in the 2-norm.
inline double relative_error(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += static_cast<double>(std::norm(a[i] - b[i]));
    size += static_cast<double>(std::norm(b[i]));
  }
  return std::sqrt(difference / size);
}

[[nodiscard]] inline std::size_t device_memory_used() {
  std::size_t free = 0;
  std::size_t total = 0;
  LARDER_CHECK(cudaMemGetInfo(&free, &total));
  return total - free;
}

/// Skips where there is no GPU; leaves device 0's primary context current.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu::cuda().set_current(gpu::cuda().primary_context(0));
    } catch (const BackendUnavailable& missing) {
      GTEST_SKIP() << missing.what();
    }
    LARDER_CHECK(cudaSetDevice(0));
  }
};

}  // namespace larder::device_tests
