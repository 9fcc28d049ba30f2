// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our declarations of cuFFT's functions and values agree with the vendor's cufftXt.h. All of it happens while compiling.
#include <cufftXt.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu/same_abi.hpp"
#include "src/fft/cufft_library.hpp"

namespace larder::fft::cufft {
namespace {

using gpu_tests::same_abi;

#define LARDER_SAME(OURS, THEIRS) static_assert(same_abi<decltype(Library::OURS), decltype(&THEIRS)>)
LARDER_SAME(get_version, cufftGetVersion);
LARDER_SAME(create, cufftCreate);
LARDER_SAME(destroy, cufftDestroy);
LARDER_SAME(set_auto_allocation, cufftSetAutoAllocation);
LARDER_SAME(make_plan_many, cufftXtMakePlanMany);
LARDER_SAME(set_stream, cufftSetStream);
LARDER_SAME(set_work_area, cufftSetWorkArea);
LARDER_SAME(set_callback, cufftXtSetCallback);
LARDER_SAME(set_callback_shared_size, cufftXtSetCallbackSharedSize);
#if CUFFT_VERSION >= 12000
LARDER_SAME(set_jit_callback, cufftXtSetJITCallback);
#endif
LARDER_SAME(exec_c2c, cufftExecC2C);
LARDER_SAME(exec_r2c, cufftExecR2C);
LARDER_SAME(exec_c2r, cufftExecC2R);
LARDER_SAME(exec_z2z, cufftExecZ2Z);
LARDER_SAME(exec_d2z, cufftExecD2Z);
LARDER_SAME(exec_z2d, cufftExecZ2D);
LARDER_SAME(exec, cufftXtExec);
#undef LARDER_SAME

static_assert(same_abi<void (*)(PlanId), void (*)(cufftHandle)>);
static_assert(no_plan == CUFFT_PLAN_NULL);
static_assert(forward == CUFFT_FORWARD && inverse == CUFFT_INVERSE);
static_assert(real_float16 == CUDA_R_16F && complex_float16 == CUDA_C_16F);
static_assert(real_float32 == CUDA_R_32F && complex_float32 == CUDA_C_32F);
static_assert(real_float64 == CUDA_R_64F && complex_float64 == CUDA_C_64F);
static_assert(callback_load == CUFFT_CB_LD_COMPLEX);
static_assert(callback_load + callback_double == CUFFT_CB_LD_COMPLEX_DOUBLE);
static_assert(callback_load + callback_real == CUFFT_CB_LD_REAL);
static_assert(callback_load + callback_real + callback_double == CUFFT_CB_LD_REAL_DOUBLE);
static_assert(callback_store == CUFFT_CB_ST_COMPLEX);
static_assert(callback_store + callback_double == CUFFT_CB_ST_COMPLEX_DOUBLE);
static_assert(callback_store + callback_real == CUFFT_CB_ST_REAL);
static_assert(callback_store + callback_real + callback_double == CUFFT_CB_ST_REAL_DOUBLE);
static_assert(success == CUFFT_SUCCESS && alloc_failed == CUFFT_ALLOC_FAILED);
static_assert(internal_error == CUFFT_INTERNAL_ERROR && setup_failed == CUFFT_SETUP_FAILED);
static_assert(not_implemented == CUFFT_NOT_IMPLEMENTED);

TEST(CufftAbi, ResultsHaveTheVendorsNames) {
#define LARDER_NAMED(RESULT) EXPECT_EQ(std::string(name_of(RESULT)), #RESULT)
  LARDER_NAMED(CUFFT_SUCCESS);
  LARDER_NAMED(CUFFT_INVALID_PLAN);
  LARDER_NAMED(CUFFT_ALLOC_FAILED);
  LARDER_NAMED(CUFFT_INVALID_TYPE);
  LARDER_NAMED(CUFFT_INVALID_VALUE);
  LARDER_NAMED(CUFFT_INTERNAL_ERROR);
  LARDER_NAMED(CUFFT_EXEC_FAILED);
  LARDER_NAMED(CUFFT_SETUP_FAILED);
  LARDER_NAMED(CUFFT_INVALID_SIZE);
  LARDER_NAMED(CUFFT_UNALIGNED_DATA);
  LARDER_NAMED(CUFFT_INVALID_DEVICE);
  LARDER_NAMED(CUFFT_NO_WORKSPACE);
  LARDER_NAMED(CUFFT_NOT_IMPLEMENTED);
  LARDER_NAMED(CUFFT_NOT_SUPPORTED);
#if CUFFT_VERSION >= 12000
  LARDER_NAMED(CUFFT_MISSING_DEPENDENCY);
  LARDER_NAMED(CUFFT_NVRTC_FAILURE);
  LARDER_NAMED(CUFFT_NVJITLINK_FAILURE);
  LARDER_NAMED(CUFFT_NVSHMEM_FAILURE);
#endif
#undef LARDER_NAMED
}

}  // namespace
}  // namespace larder::fft::cufft
