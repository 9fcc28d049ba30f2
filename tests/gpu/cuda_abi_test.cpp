// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our declarations of the CUDA driver's functions agree with the vendor's cuda.h. All of it happens while compiling.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <gtest/gtest.h>

#include "gpu/same_abi.hpp"
#include "src/gpu/cuda_library.hpp"

namespace larder::gpu_tests {
namespace {

using gpu::cuda_abi::Library;

#define LARDER_SAME(OURS, THEIRS) static_assert(same_abi<decltype(Library::OURS), decltype(&THEIRS)>)
LARDER_SAME(init, cuInit);
LARDER_SAME(driver_get_version, cuDriverGetVersion);
LARDER_SAME(get_error_name, cuGetErrorName);
LARDER_SAME(device_get_count, cuDeviceGetCount);
LARDER_SAME(device_get, cuDeviceGet);
LARDER_SAME(device_get_name, cuDeviceGetName);
LARDER_SAME(device_total_mem, cuDeviceTotalMem);
LARDER_SAME(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
LARDER_SAME(ctx_get_current, cuCtxGetCurrent);
LARDER_SAME(ctx_set_current, cuCtxSetCurrent);
LARDER_SAME(ctx_push_current, cuCtxPushCurrent);
LARDER_SAME(ctx_pop_current, cuCtxPopCurrent);
LARDER_SAME(ctx_get_id, cuCtxGetId);
LARDER_SAME(mem_get_info, cuMemGetInfo);
LARDER_SAME(mem_alloc, cuMemAlloc);
LARDER_SAME(mem_free, cuMemFree);
LARDER_SAME(mem_free_async, cuMemFreeAsync);
LARDER_SAME(stream_get_id, cuStreamGetId);
LARDER_SAME(stream_is_capturing, cuStreamIsCapturing);
LARDER_SAME(stream_wait_event, cuStreamWaitEvent);
LARDER_SAME(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode);
LARDER_SAME(event_create, cuEventCreate);
LARDER_SAME(event_destroy, cuEventDestroy);
LARDER_SAME(event_record, cuEventRecord);
LARDER_SAME(event_query, cuEventQuery);
LARDER_SAME(event_synchronize, cuEventSynchronize);
// The header's own cuStreamGetCaptureInfo is a later version than the one that larder calls.
static_assert(same_abi<decltype(Library::stream_get_capture_info), PFN_cuStreamGetCaptureInfo_v11030>);
#undef LARDER_SAME

static_assert(gpu::cuda_abi::success == CUDA_SUCCESS);
static_assert(gpu::cuda_abi::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(gpu::cuda_abi::not_ready == CUDA_ERROR_NOT_READY);
static_assert(gpu::cuda_abi::stream_capture_implicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(gpu::cuda_abi::capture_status_none == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(gpu::cuda_abi::capture_status_active == CU_STREAM_CAPTURE_STATUS_ACTIVE);
static_assert(gpu::cuda_abi::capture_mode_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(gpu::cuda_abi::event_disable_timing == CU_EVENT_DISABLE_TIMING);

TEST(CudaAbiTest, OurDeclarationsAgreeWithTheVendorsHeader) { SUCCEED() << "compared while compiling"; }

}  // namespace
}  // namespace larder::gpu_tests
