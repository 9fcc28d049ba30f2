// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cufft_library.hpp"

#include "../gpu/dynamic_library.hpp"

namespace larder::fft::cufft {

namespace {

Library load() {
  const gpu::DynamicLibrary file("cuFFT", "LARDER_CUFFT_LIBRARY",
                                 {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10"});
  Library loaded;
  loaded.path = file.path();
  file.bind(loaded.get_version, "cufftGetVersion");
  file.bind(loaded.create, "cufftCreate");
  file.bind(loaded.destroy, "cufftDestroy");
  file.bind(loaded.set_auto_allocation, "cufftSetAutoAllocation");
  file.bind(loaded.make_plan_many, "cufftXtMakePlanMany");
  file.bind(loaded.set_stream, "cufftSetStream");
  file.bind(loaded.set_work_area, "cufftSetWorkArea");
  file.bind(loaded.set_callback, "cufftXtSetCallback");
  file.bind(loaded.set_callback_shared_size, "cufftXtSetCallbackSharedSize");
  file.bind(loaded.exec_c2c, "cufftExecC2C");
  file.bind(loaded.exec_r2c, "cufftExecR2C");
  file.bind(loaded.exec_c2r, "cufftExecC2R");
  file.bind(loaded.exec_z2z, "cufftExecZ2Z");
  file.bind(loaded.exec_d2z, "cufftExecD2Z");
  file.bind(loaded.exec_z2d, "cufftExecZ2D");
  file.bind(loaded.exec, "cufftXtExec");
  // The last releases before version 12 have today's function under another name, beside an older one of that name.
  file.bind_optional(loaded.set_jit_callback, "__cufftXtSetJITCallback_12_7");
  constexpr int with_name = 12000;
  int version = 0;
  if (loaded.set_jit_callback == nullptr && loaded.get_version(&version) == success && version >= with_name) {
    file.bind_optional(loaded.set_jit_callback, "cufftXtSetJITCallback");
  }
  return loaded;
}

}  // namespace

const Library& library() {
  static const Library& loaded = *new Library(load());  // never destroyed: caches in static storage use it at exit
  return loaded;
}

const char* name_of(Result result) noexcept {
  switch (result) {
    case 0x0: return "CUFFT_SUCCESS";
    case 0x1: return "CUFFT_INVALID_PLAN";
    case 0x2: return "CUFFT_ALLOC_FAILED";
    case 0x3: return "CUFFT_INVALID_TYPE";
    case 0x4: return "CUFFT_INVALID_VALUE";
    case 0x5: return "CUFFT_INTERNAL_ERROR";
    case 0x6: return "CUFFT_EXEC_FAILED";
    case 0x7: return "CUFFT_SETUP_FAILED";
    case 0x8: return "CUFFT_INVALID_SIZE";
    case 0x9: return "CUFFT_UNALIGNED_DATA";
    case 0xA: return "CUFFT_INCOMPLETE_PARAMETER_LIST";
    case 0xB: return "CUFFT_INVALID_DEVICE";
    case 0xC: return "CUFFT_PARSE_ERROR";
    case 0xD: return "CUFFT_NO_WORKSPACE";
    case 0xE: return "CUFFT_NOT_IMPLEMENTED";
    case 0xF: return "CUFFT_LICENSE_ERROR";
    case 0x10: return "CUFFT_NOT_SUPPORTED";
    case 0x11: return "CUFFT_MISSING_DEPENDENCY";
    case 0x12: return "CUFFT_NVRTC_FAILURE";
    case 0x13: return "CUFFT_NVJITLINK_FAILURE";
    case 0x14: return "CUFFT_NVSHMEM_FAILURE";
    default: return "unknown cuFFT result";
  }
}

bool retryable(Result result) noexcept {
  // Only the first says that memory is short. But the same shortage shows up as the second when it strikes while kernels
  // are loaded, and as the third when it strikes before the library is set up; what else those mean fails again at
  // once, at the price of the idle plans.
  return result == alloc_failed || result == internal_error || result == setup_failed;
}

}  // namespace larder::fft::cufft
