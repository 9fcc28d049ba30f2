// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver, loaded at run time: a program that includes this builds and starts without CUDA.
#pragma once

#include <larder/gpu/driver.hpp>

namespace larder::gpu {

/// The CUDA driver of this machine: libcuda.so.1, or the library that LARDER_CUDA_LIBRARY names.
///
/// Loaded by the first call and never unloaded; safe from several threads.
/// @throws BackendUnavailable when the library or one of its functions is missing, or it finds no device; a later call
/// tries again
[[nodiscard]] Driver& cuda();

}  // namespace larder::gpu
