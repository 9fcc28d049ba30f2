// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of cuFFT that larder calls, by our own declarations, so that no CUDA is needed to build.
// tests/fft/cufft_abi_test.cpp compares them with cufftXt.h where that is installed.
//
// The vendor's enumerations are ints here, its streams and arrays void*.
#pragma once

#include <cstddef>
#include <string>

namespace larder::fft::cufft {

using Result = int;  // cufftResult
using PlanId = int;  // cufftHandle

inline constexpr Result success = 0;
inline constexpr Result alloc_failed = 2;
inline constexpr Result internal_error = 5;
inline constexpr Result setup_failed = 7;
inline constexpr Result not_implemented = 14;

inline constexpr PlanId no_plan = -1;  // CUFFT_PLAN_NULL

inline constexpr int forward = -1;  // CUFFT_FORWARD
inline constexpr int inverse = 1;   // CUFFT_INVERSE

// cudaDataType
inline constexpr int real_float16 = 2;
inline constexpr int complex_float16 = 6;
inline constexpr int real_float32 = 0;
inline constexpr int complex_float32 = 4;
inline constexpr int real_float64 = 1;
inline constexpr int complex_float64 = 5;

// cufftXtCallbackType: one of these + callback_real for real elements + callback_double for double precision.
inline constexpr int callback_load = 0;
inline constexpr int callback_store = 4;
inline constexpr int callback_double = 1;
inline constexpr int callback_real = 2;

/// cuFFT as a table of functions; the tests fill one of their own.
struct Library {
  std::string path;  // the file that was loaded

  Result (*get_version)(int* version) = nullptr;
  Result (*create)(PlanId* plan) = nullptr;
  Result (*destroy)(PlanId plan) = nullptr;
  Result (*set_auto_allocation)(PlanId plan, int on) = nullptr;
  Result (*make_plan_many)(PlanId plan, int rank, long long* lengths, long long* input_embed, long long input_stride,
                           long long input_distance, int input_type, long long* output_embed, long long output_stride,
                           long long output_distance, int output_type, long long batch, std::size_t* work_size,
                           int execution_type) = nullptr;
  Result (*set_stream)(PlanId plan, void* stream) = nullptr;
  Result (*set_work_area)(PlanId plan, void* memory) = nullptr;
  Result (*set_callback)(PlanId plan, void** functions, int type, void** caller_infos) = nullptr;
  Result (*set_callback_shared_size)(PlanId plan, int type, std::size_t bytes) = nullptr;
  /// nullptr before CUDA 12.7.
  Result (*set_jit_callback)(PlanId plan, const char* name, const void* code, std::size_t bytes, int type,
                             void** caller_infos) = nullptr;
  Result (*exec_c2c)(PlanId plan, void* in, void* out, int direction) = nullptr;
  Result (*exec_r2c)(PlanId plan, void* in, void* out) = nullptr;
  Result (*exec_c2r)(PlanId plan, void* in, void* out) = nullptr;
  Result (*exec_z2z)(PlanId plan, void* in, void* out, int direction) = nullptr;
  Result (*exec_d2z)(PlanId plan, void* in, void* out) = nullptr;
  Result (*exec_z2d)(PlanId plan, void* in, void* out) = nullptr;
  Result (*exec)(PlanId plan, void* in, void* out, int direction) = nullptr;
};

/// cuFFT of this machine: libcufft.so, or the library that LARDER_CUFFT_LIBRARY names. Loaded once and never unloaded.
/// @throws BackendUnavailable when it or one of its functions is missing; a later call tries again
[[nodiscard]] const Library& library();

/// The vendor's name of a result, also of those that CUDA 13 removed: "CUFFT_ALLOC_FAILED".
[[nodiscard]] const char* name_of(Result result) noexcept;

/// Whether a plan that could not be made with this result may be made once device memory was given back.
[[nodiscard]] bool retryable(Result result) noexcept;

}  // namespace larder::fft::cufft
