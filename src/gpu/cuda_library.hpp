// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of the CUDA driver that larder calls, by our own declarations, so that no CUDA is needed to build.
// tests/gpu/cuda_abi_test.cpp compares them with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dynamic_library.hpp"

namespace larder::gpu::cuda_abi {

using Result = int;
using Device = int;
using Pointer = unsigned long long;  // CUdeviceptr
using Ctx = void*;
using Str = void*;
using Ev = void*;

inline constexpr Result success = 0;
inline constexpr Result out_of_memory = 2;
inline constexpr Result not_ready = 600;
inline constexpr Result stream_capture_implicit = 906;
inline constexpr int capture_status_none = 0;
inline constexpr int capture_status_active = 1;
inline constexpr int capture_mode_relaxed = 2;
inline constexpr unsigned event_disable_timing = 2;

struct Library {
  /// @throws BackendUnavailable
  Library();

  DynamicLibrary file;
  Result (*init)(unsigned flags) = nullptr;
  Result (*driver_get_version)(int* version) = nullptr;
  Result (*get_error_name)(Result result, const char** name) = nullptr;
  Result (*device_get_count)(int* count) = nullptr;
  Result (*device_get)(Device* device, int ordinal) = nullptr;
  Result (*device_get_name)(char* name, int size, Device device) = nullptr;
  Result (*device_total_mem)(std::size_t* bytes, Device device) = nullptr;
  Result (*device_primary_ctx_retain)(Ctx* context, Device device) = nullptr;
  Result (*ctx_get_current)(Ctx* context) = nullptr;
  Result (*ctx_set_current)(Ctx context) = nullptr;
  Result (*ctx_push_current)(Ctx context) = nullptr;
  Result (*ctx_pop_current)(Ctx* context) = nullptr;
  Result (*ctx_get_id)(Ctx context, unsigned long long* id) = nullptr;
  Result (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  Result (*mem_alloc)(Pointer* memory, std::size_t bytes) = nullptr;
  Result (*mem_free)(Pointer memory) = nullptr;
  Result (*mem_free_async)(Pointer memory, Str stream) = nullptr;
  Result (*stream_get_id)(Str stream, unsigned long long* id) = nullptr;
  Result (*stream_is_capturing)(Str stream, int* status) = nullptr;
  Result (*stream_get_capture_info)(Str stream, int* status, std::uint64_t* id, void** graph, const void** dependencies,
                                    std::size_t* count) = nullptr;
  Result (*stream_wait_event)(Str stream, Ev event, unsigned flags) = nullptr;
  Result (*thread_exchange_stream_capture_mode)(int* mode) = nullptr;
  Result (*event_create)(Ev* event, unsigned flags) = nullptr;
  Result (*event_destroy)(Ev event) = nullptr;
  Result (*event_record)(Ev event, Str stream) = nullptr;
  Result (*event_query)(Ev event) = nullptr;
  Result (*event_synchronize)(Ev event) = nullptr;
};

}  // namespace larder::gpu::cuda_abi
