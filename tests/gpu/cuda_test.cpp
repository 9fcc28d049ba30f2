// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the CUDA driver's absence looks like. Its presence is tested on a GPU, tests/device.
#include <larder/gpu/cuda.hpp>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larder::gpu_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// In a process of its own: a driver that was loaded stays.
TEST(CudaTest, ADriverThatIsNotThereIsNamedAndLookedForAgainByTheNextCall) {
  const auto look = [] {
    setenv("LARDER_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    for (int call = 0; call < 2; ++call) {
      try {
        (void)gpu::cuda();
        std::exit(1);
      } catch (const BackendUnavailable& missing) {
        if (!testing::Matches(AllOf(HasSubstr("LARDER_CUDA_LIBRARY"), HasSubstr("/nowhere/libcuda.so.1")))(
                std::string(missing.what()))) {
          std::exit(2);
        }
      }
    }
    std::exit(0);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

// The C library exports none of the driver's functions.
TEST(CudaTest, ALibraryThatIsNoDriverIsRefusedByTheFirstFunctionItLacks) {
  const auto look = [] {
    setenv("LARDER_CUDA_LIBRARY", "libc.so.6", 1);
    try {
      (void)gpu::cuda();
    } catch (const BackendUnavailable& missing) {
      std::exit(std::string(missing.what()).find("cuInit") == std::string::npos ? 2 : 0);
    }
    std::exit(1);
  };
  EXPECT_EXIT(look(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace larder::gpu_tests
