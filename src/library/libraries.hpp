// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The few functions of each handle library that larder calls, by our own declarations; tests/library/abi_test.cpp compares
// them with the vendor's headers where those are. load_*() gives the functions of this machine's library, *_calls() what
// larder makes of them.
#pragma once

#include <memory>

#include <larder/library/device_handle.hpp>

namespace larder::library {

struct Cublas {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_pointer_mode)(void* handle, int mode);
  int (*set_math_mode)(void* handle, int mode);
  int (*set_atomics_mode)(void* handle, int mode);
  int (*set_sm_count_target)(void* handle, int count);        // nullptr before 11.5
  int (*set_emulation_strategy)(void* handle, int strategy);  // nullptr before 13.0
  const char* (*get_status_name)(int status);                 // nullptr before 11.4
};

struct CublasLt {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  const char* (*get_status_name)(int status);
};

struct Cusparse {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_pointer_mode)(void* handle, int mode);
  const char* (*get_error_name)(int status);
};

struct Cusolver {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_deterministic_mode)(void* handle, int mode);      // nullptr before 11.7
  int (*set_math_mode)(void* handle, int mode);               // nullptr before 13.0
  int (*set_emulation_strategy)(void* handle, int strategy);  // nullptr before 13.0
};

struct Curand {
  int (*create)(void** generator, int type);
  int (*destroy)(void* generator);
  int (*set_stream)(void* generator, void* stream);
  int (*set_seed)(void* generator, unsigned long long seed);
  int (*set_offset)(void* generator, unsigned long long offset);
  int (*set_ordering)(void* generator, int ordering);
  int (*set_dimensions)(void* generator, unsigned dimensions);
};

struct Cudnn {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  const char* (*get_error_string)(int status);
};

// @throws BackendUnavailable
[[nodiscard]] Cublas load_cublas();
[[nodiscard]] CublasLt load_cublaslt();
[[nodiscard]] Cusparse load_cusparse();
[[nodiscard]] Cusolver load_cusolver();
[[nodiscard]] Curand load_curand();
[[nodiscard]] Cudnn load_cudnn();

[[nodiscard]] std::unique_ptr<Calls> cublas_calls(const Cublas& functions);
[[nodiscard]] std::unique_ptr<Calls> cublaslt_calls(const CublasLt& functions);
[[nodiscard]] std::unique_ptr<Calls> cusparse_calls(const Cusparse& functions);
[[nodiscard]] std::unique_ptr<Calls> cusolver_calls(const Cusolver& functions);
[[nodiscard]] std::unique_ptr<Calls> curand_calls(const Curand& functions);
[[nodiscard]] std::unique_ptr<Calls> cudnn_calls(const Cudnn& functions);

/// The first result of these that is not 0; calls after it are not made.
template <class... Call>
[[nodiscard]] int first_failure(Call&&... calls) {
  int result = 0;
  (void)(((result = calls()) == 0) && ...);
  return result;
}

/// Sets a mode that older versions of a library do not have.
[[nodiscard]] inline int set_if_known(int (*set)(void*, int), void* handle, int value) {
  return set == nullptr ? 0 : set(handle, value);
}

[[nodiscard]] inline std::string name_or(const char* (*name_of)(int), int result) {
  const char* const name = name_of == nullptr ? nullptr : name_of(result);
  return name == nullptr ? "unnamed result" : name;
}

}  // namespace larder::library
