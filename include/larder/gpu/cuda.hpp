// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver, loaded at run time: a program that includes this builds and starts without CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <larder/gpu/driver.hpp>

namespace larder::gpu {

/// The CUDA driver of this machine: libcuda.so.1, or the library that LARDER_CUDA_LIBRARY names.
///
/// Loaded by the first call and never unloaded; safe from several threads.
/// @throws BackendUnavailable when the library or one of its functions is missing, or it finds no device; a later call
/// tries again
///
/// Contexts and streams are told apart by cuCtxGetId and cuStreamGetId, which came with CUDA 12.0.
[[nodiscard]] Driver& cuda();

/// A device as the driver describes it.
struct CudaDevice {
  std::string name;
  std::size_t memory = 0;  ///< bytes
};

/// What cuda() works with.
struct CudaInstallation {
  std::string library;  ///< the file that was loaded
  int version = 0;      ///< newest CUDA version that the driver supports, as 1000 * major + 10 * minor
  std::vector<CudaDevice> devices;
};

/// @throws BackendUnavailable as cuda()
[[nodiscard]] CudaInstallation cuda_installation();

}  // namespace larder::gpu
