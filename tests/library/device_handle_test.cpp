// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles of all libraries, leased from a cache.
#include <larder/library/device_handle.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/library/cublas.hpp>

#include "doubles/simulated_driver.hpp"
#include "doubles/simulated_libraries.hpp"

namespace larder::library_tests {
namespace {

using doubles::SimulatedDriver;
using doubles::SimulatedLibraries;
using library::HandleKey;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t mib = std::size_t{1} << 20;

class DeviceHandleTest : public testing::Test {
 protected:
  using Factory = cublas::HandleFactory;

  explicit DeviceHandleTest(
      std::shared_ptr<const library::Calls> calls = library::cublas_calls(SimulatedLibraries::cublas()))
      : cache({}, {}, Factory(driver, std::move(calls))) {}
  void TearDown() override { EXPECT_THAT(driver.violations(), IsEmpty()); }

  SimulatedDriver driver{2, 1024 * mib};
  SimulatedLibraries libraries{driver, 64 * mib};
  gpu::Context context = driver.primary_context(0);
  gpu::Context other = driver.primary_context(1);
  gpu::CurrentContext inside{driver, context};
  gpu::Stream s1 = driver.create_stream();
  gpu::Stream s2 = driver.create_stream();
  HandleKey key{context};
  HandleCache<Factory> cache;
};

TEST_F(DeviceHandleTest, C41TheLeaseSetsItsStream) {
  void* native = nullptr;
  {
    const auto lease = cache.acquire(key, s1);
    native = *lease;
    EXPECT_EQ(libraries.at(native).stream, s1.native());
    libraries.launch(native);
  }
  driver.finish(s1);
  const auto lease = cache.acquire(key, s2);
  EXPECT_EQ(static_cast<void*>(*lease), native);
  EXPECT_EQ(libraries.at(native).stream, s2.native());
  libraries.launch(native);
}

TEST_F(DeviceHandleTest, WorkOnAnotherStreamIsOrderedBefore) {
  cache.set_budget({.max_idle = 1});
  for (const gpu::Stream stream : {s1, s2, s1}) {
    const auto lease = cache.acquire(key, stream);
    libraries.launch(*lease);
  }
  EXPECT_EQ(driver.objects_created(), 1U);
}

TEST_F(DeviceHandleTest, C48ModesAreBackAtTheDefaultAlsoWhenTheUserThrows) {
  void* native = nullptr;
  try {
    const auto lease = cache.acquire(key, s1);
    native = *lease;
    libraries.set(native, "pointer", 1);
    libraries.set(native, "math", 3);
    libraries.set(native, "atomics", 1);
    libraries.set(native, "sm_count", 20);
    libraries.set(native, "emulation", 2);
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  const std::map<std::string, long long> defaults{
      {"pointer", 0}, {"math", 0}, {"atomics", 0}, {"sm_count", 0}, {"emulation", 0}};
  EXPECT_EQ(libraries.at(native).modes, defaults);
}

TEST_F(DeviceHandleTest, C48AFailingResetDestroysTheHandle) {
  {
    const auto lease = cache.acquire(key, s1);
    libraries.fail_next("math", 14);
  }
  EXPECT_EQ(driver.objects_destroyed(), 1U);
  EXPECT_EQ(cache.stats().idle, 0U);
}

TEST_F(DeviceHandleTest, C10ManyRequestsInTurnAreOneCreate) {
  for (int i = 0; i < 52'000; ++i) (void)cache.acquire(key, s1);
  EXPECT_EQ(driver.objects_created(), 1U);
}

TEST_F(DeviceHandleTest, MemoryIsMeasuredSoAByteBudgetHolds) {
  cache.set_budget({.max_idle = 100, .max_idle_bytes = 200 * mib});
  {
    const auto a = cache.acquire(key, s1);
    const auto b = cache.acquire(key, s1);
    const auto c = cache.acquire(key, s1);
    const auto d = cache.acquire(key, s1);
    EXPECT_EQ(cache.stats().leased_bytes, 4 * 64 * mib);
  }
  EXPECT_EQ(cache.stats().idle, 3U);
  EXPECT_EQ(cache.stats().idle_bytes, 3 * 64 * mib);
}

TEST_F(DeviceHandleTest, C06ACreateThatFailsForWantOfMemoryIsTriedAgainAfterIdleHandlesWereGivenUp) {
  cache.set_budget({.max_idle = 100});
  {
    const auto a = cache.acquire(key, s1);
    const auto b = cache.acquire(key, s1);
  }
  libraries.fail_next("create", 3);
  const auto one = cache.acquire(key, s1);
  const auto two = cache.acquire(key, s1);  // both idle ones are out
  const auto three = cache.acquire(key, s1);
  EXPECT_EQ(cache.stats().build_failures, 1U);
  EXPECT_EQ(cache.stats().builds, 3U);
}

TEST_F(DeviceHandleTest, AFullDeviceGivesUpIdleHandlesOfItsContextOnly) {
  const HandleKey elsewhere(other);
  (void)cache.acquire(elsewhere, gpu::Stream{});
  void* const filling = driver.allocate(driver.memory().free - 64 * mib);
  (void)cache.acquire(key, s1);
  driver.finish(s1);
  {
    const gpu::CurrentContext there(driver, other);
    const gpu::Stream stream = driver.create_stream();
    (void)cache.acquire(elsewhere, stream);
  }
  const auto taken = cache.acquire(key, s1);
  EXPECT_THROW((void)cache.acquire(key, s1), BuildFailed);
  EXPECT_EQ(cache.stats().idle, 1U);  // that of the other device
  driver.free_when_idle(filling);
}

TEST_F(DeviceHandleTest, AFailureIsNamedByTheLibraryWithItsKey) {
  libraries.fail_next("create", 3);
  driver.set_hook([&](const std::string& member) {
    if (member == "create_object") libraries.fail_next("create", 3);
  });
  libraries.fail_next("create", 8);
  try {
    (void)cache.acquire(key, s1);
    FAIL() << "no error";
  } catch (const BuildFailed& failure) {
    EXPECT_EQ(failure.backend(), "cublas");
    EXPECT_EQ(failure.code(), 8);
    EXPECT_THAT(failure.what(), HasSubstr("cublas handle in context " + std::to_string(context.id)));
  }
  driver.set_hook({});
}

// Measuring is no reason to lose a handle.
TEST_F(DeviceHandleTest, AHandleWhoseMemoryCannotBeMeasuredCountsForTheLeast) {
  int calls = 0;
  driver.set_hook([&](const std::string& member) {
    if (member == "memory" && ++calls == 2) throw gpu::DriverError("cuMemGetInfo", 700, "SIMULATED");
  });
  const auto lease = cache.acquire(key, s1);
  driver.set_hook({});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(driver.objects_created(), 1U);
  EXPECT_EQ(cache.stats().leased_bytes, std::size_t{64} << 10);
}

// Whatever call of the driver fails: no handle is lost or destroyed twice, and nothing is used wrongly.
TEST_F(DeviceHandleTest, NoFailureOfTheDriverLosesAHandle) {
  bool failed = true;
  for (int which = 1; failed; ++which) {
    const std::uint64_t created = driver.objects_created();
    const std::uint64_t destroyed = driver.objects_destroyed();
    std::uint64_t abandoned = 0;
    failed = false;
    {
      HandleCache<Factory> own({.max_idle = 1}, {},
                               Factory(driver, library::cublas_calls(SimulatedLibraries::cublas())));
      int calls = 0;
      driver.set_hook([&](const std::string& member) {
        // What CurrentContext calls in its destructor cannot fail, and the library fails by results.
        if (member == "create_object" || member == "destroy_object" || ++calls != which) return;
        failed = true;
        throw gpu::DriverError(member, 700, "SIMULATED");
      });
      for (const gpu::Stream stream : {s1, s2, gpu::Stream{}, s1}) {
        try {
          const auto one = own.acquire(key, stream);
          const auto two = own.acquire(key, stream);
          libraries.launch(*one);
        } catch (const Error&) {
        }
      }
      own.clear();
      driver.set_hook({});
      EXPECT_EQ(own.stats().live, 0U) << which;
      abandoned = own.stats().abandoned;
    }
    EXPECT_EQ(driver.objects_created() - created, driver.objects_destroyed() - destroyed + abandoned) << which;
    EXPECT_EQ(driver.stack(), std::vector<gpu::Context>{context}) << which;
  }
}

TEST_F(DeviceHandleTest, C30TwoDevicesAreNeverCrossed) {
  const HandleKey keys[] = {key, HandleKey(other)};
  for (int i = 0; i < 1000; ++i) {
    const HandleKey& wanted = keys[i % 3 == 0 ? 0 : 1];
    const gpu::CurrentContext here(driver, i % 2 == 0 ? context : other);
    const auto lease = cache.acquire(wanted, gpu::Stream{});
    const gpu::CurrentContext there(driver, wanted.context());
    driver.touch(reinterpret_cast<std::uintptr_t>(static_cast<void*>(*lease)) / 16, "gemm");
  }
  EXPECT_EQ(driver.objects_created(), 2U);
  EXPECT_EQ(driver.current(), context);
}

TEST_F(DeviceHandleTest, EveryLibraryMakesAndDestroysItsHandles) {
  const std::shared_ptr<const library::Calls> all[] = {
      library::cublas_calls(SimulatedLibraries::cublas()),     library::cublaslt_calls(SimulatedLibraries::cublaslt()),
      library::cusparse_calls(SimulatedLibraries::cusparse()), library::cusolver_calls(SimulatedLibraries::cusolver()),
      library::curand_calls(SimulatedLibraries::curand()),     library::cudnn_calls(SimulatedLibraries::cudnn())};
  for (const auto& calls : all) {
    const std::uint64_t created = driver.objects_created();
    {
      HandleCache<library::DeviceHandleFactory<void*>> of_library({}, {},
                                                                  library::DeviceHandleFactory<void*>(driver, calls));
      for (int i = 0; i < 3; ++i) (void)of_library.acquire(key, s1);
      EXPECT_EQ(of_library.stats().builds, 1U) << calls->name();
      EXPECT_EQ(of_library.stats().idle, 1U) << calls->name();
    }
    EXPECT_EQ(driver.objects_created(), created + 1) << calls->name();
    EXPECT_EQ(driver.objects_destroyed(), created + 1) << calls->name();
    EXPECT_THAT(calls->name_of(4711), Not(IsEmpty()));
    EXPECT_FALSE(calls->retryable(4711));
  }
}

TEST(LibraryResults, AreNamed) {
  EXPECT_EQ(library::cusolver_calls(SimulatedLibraries::cusolver())->name_of(2), "CUSOLVER_STATUS_ALLOC_FAILED");
  EXPECT_EQ(library::curand_calls(SimulatedLibraries::curand())->name_of(102), "CURAND_STATUS_ALLOCATION_FAILED");
  EXPECT_EQ(library::cublas_calls(SimulatedLibraries::cublas())->name_of(3), "SIMULATED_ALLOC_FAILED");
}

TEST(LibraryResults, ThatMeanShortMemoryAreTriedAgain) {
  EXPECT_TRUE(library::cublas_calls(SimulatedLibraries::cublas())->retryable(3));
  EXPECT_TRUE(library::cusolver_calls(SimulatedLibraries::cusolver())->retryable(2));
  EXPECT_TRUE(library::cudnn_calls(SimulatedLibraries::cudnn())->retryable(4004));
  EXPECT_FALSE(library::cublas_calls(SimulatedLibraries::cublas())->retryable(7));
}

TEST_F(DeviceHandleTest, WithoutACurrentContextThereIsNoKey) {
  driver.set_current({});
  try {
    (void)library::key_of_current_context(driver);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cudaSetDevice"));
  }
  driver.set_current(context);
}

}  // namespace
}  // namespace larder::library_tests
