// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles of NVIDIA's libraries on a real GPU.
#include <cublas_v2.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>

#include <cstdio>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <larder/library/cublas.hpp>
#include <larder/library/cublaslt.hpp>
#include <larder/library/cudnn.hpp>
#include <larder/library/curand.hpp>
#include <larder/library/cusolver.hpp>
#include <larder/library/cusparse.hpp>

#include "device/device_world.hpp"

namespace larder::device_tests {
namespace {

constexpr double mib = 1 << 20;

class LibraryDeviceTest : public DeviceTest {
 protected:
  /// Leases two handles at once, so that at least the second is no first use of the library.
  template <class Cache>
  static void print_bytes(const char* name, Cache& cache, int sort = 0) {
    const library::HandleKey key = library::key_of_current_context(gpu::cuda(), sort);
    const auto first = cache.acquire(key, gpu::Stream{});
    const std::size_t before = cache.stats().leased_bytes;
    const auto second = cache.acquire(key, gpu::Stream{});
    std::printf("%-10s a handle holds %.0f MiB\n", name,
                static_cast<double>(cache.stats().leased_bytes - before) / mib);
  }
};

TEST_F(LibraryDeviceTest, TheHandleOfAThreadFollowsTheStream) {
  const DeviceStream a;
  const DeviceStream b;
  for (const DeviceStream* const stream : {&a, &b, &a}) {
    cudaStream_t set = nullptr;
    ASSERT_EQ(cublasGetStream(cublas::handle(*stream), &set), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set, static_cast<cudaStream_t>(*stream));
    ASSERT_EQ(cusparseGetStream(cusparse::handle(*stream), &set), CUSPARSE_STATUS_SUCCESS);
    EXPECT_EQ(set, static_cast<cudaStream_t>(*stream));
    ASSERT_EQ(cusolverDnGetStream(cusolver::handle(*stream), &set), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(set, static_cast<cudaStream_t>(*stream));
  }
  EXPECT_NE(cublaslt::handle(), nullptr);
  EXPECT_NE(cudnn::handle(a), nullptr);
}

TEST_F(LibraryDeviceTest, AThreadThatEndsLeavesItsHandleToTheNextWithTheModesPutBack) {
  cublasHandle_t first = nullptr;
  std::thread([&] {
    LARDER_CHECK(cudaSetDevice(0));
    first = cublas::handle();
    ASSERT_EQ(cublasSetPointerMode(first, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  }).join();
  std::thread([&] {
    LARDER_CHECK(cudaSetDevice(0));
    EXPECT_EQ(cublas::handle(), first);
    cublasPointerMode_t mode{};
    ASSERT_EQ(cublasGetPointerMode(first, &mode), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(mode, CUBLAS_POINTER_MODE_HOST);
  }).join();
}

TEST_F(LibraryDeviceTest, GeneratorsWithOneSeedGiveOneSequenceWhoeverHadThemBefore) {
  constexpr std::size_t count = 1000;
  const DeviceStream stream;
  const DeviceArray<float> numbers(count);
  const auto draw = [&](std::uint64_t seed) {
    {
      const auto generator = curand::generator(CURAND_RNG_PSEUDO_PHILOX4_32_10, stream, {.seed = seed});
      EXPECT_EQ(curandGenerateUniform(*generator, numbers.data(), count), CURAND_STATUS_SUCCESS);
    }
    stream.synchronize();
    return numbers.to_host();
  };
  const std::vector<float> first = draw(42);
  const std::vector<float> other = draw(7);
  EXPECT_EQ(draw(42), first);
  EXPECT_NE(other, first);
  EXPECT_EQ(curand::handles().stats().builds, 1U);
}

TEST_F(LibraryDeviceTest, BytesAreMeasuredSoAByteBudgetMeansSomething) {
  print_bytes("cublas", cublas::handles());
  print_bytes("cublaslt", cublaslt::handles());
  print_bytes("cusparse", cusparse::handles());
  print_bytes("cusolver", cusolver::handles());
  print_bytes("cudnn", cudnn::handles());
  print_bytes("curand", curand::handles(), CURAND_RNG_PSEUDO_PHILOX4_32_10);

  cublas::HandleCache& cache = cublas::handles();
  cache.set_budget({.max_idle = 100, .max_idle_bytes = std::size_t{200} << 20});
  {
    const library::HandleKey key = library::key_of_current_context(gpu::cuda());
    std::vector<Lease<cublas::HandleFactory>> leases;
    for (int i = 0; i < 6; ++i) leases.push_back(cache.acquire(key, gpu::Stream{}));
  }
  const Stats stats = cache.stats();
  std::printf("cublas     with max_idle_bytes = 200 MiB: %zu idle, %.0f MiB\n", stats.idle,
              static_cast<double>(stats.idle_bytes) / mib);
  EXPECT_LE(stats.idle_bytes, std::size_t{200} << 20);
  EXPECT_LE(stats.idle, 6U);
  cache.set_budget({});
}

TEST_F(LibraryDeviceTest, WhatAFullCardAnswersIsTriedAgain) {
  cublas::HandleCache& cache = cublas::handles();
  cusolver::HandleCache& wanted = cusolver::handles();
  const library::HandleKey key = library::key_of_current_context(gpu::cuda());
  {
    const auto a = wanted.acquire(key, gpu::Stream{});
    const auto b = wanted.acquire(key, gpu::Stream{});
  }
  LARDER_CHECK(cudaDeviceSynchronize());
  const DeviceStream other;
  const FullCard full;
  // What the library answers when nothing can be given up.
  try {
    std::vector<Lease<cublas::HandleFactory>> leases;
    for (int i = 0; i < 100; ++i) leases.push_back(cache.acquire(key, gpu::Stream{}));
    ADD_FAILURE() << "the card is not full";
  } catch (const BuildFailed& failure) {
    std::printf("cublas     on a full card: %s\n", failure.what());
    EXPECT_EQ(failure.retry(), Retry::after_reclaim);
  }
  const std::uint64_t failures = wanted.stats().build_failures;
  std::vector<Lease<cusolver::HandleFactory>> leases;
  leases.push_back(wanted.acquire(key, gpu::Stream{}));  // one of the two idle ones
  try {
    leases.push_back(wanted.acquire(key, other));  // the other one
    leases.push_back(wanted.acquire(key, other));
    ADD_FAILURE() << "the card is not full";
  } catch (const BuildFailed& failure) {
    std::printf("cusolver   on a full card: %s\n", failure.what());
    EXPECT_EQ(failure.retry(), Retry::after_reclaim);
  }
  EXPECT_GT(wanted.stats().build_failures, failures);
}

}  // namespace
}  // namespace larder::device_tests
