// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLAS handles: one per thread and context, or leased.
//
//   cublasHandle_t handle = larder::cublas::handle(stream);       // this thread's, on that stream
//   auto lease = larder::cublas::handles().acquire(key, stream);  // for a scope
#pragma once

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct cublasContext;  // as in the vendor's header, where cublasHandle_t is a pointer to it

namespace larder::cublas {

using HandleFactory = library::DeviceHandleFactory<cublasContext*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// The handles of this process; made by the first call, never destroyed. A handle holds 64 MiB on an H200.
/// @throws BackendUnavailable when the CUDA driver or cuBLAS is missing (LARDER_CUBLAS_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// The calling thread's handle in its current context on that stream.
///
/// The thread keeps it, one for each of the 4 streams it asked for first, and gives all back when it asks for a fifth or
/// ends; that waits for the device, as the streams may have been destroyed. Modes that the thread sets stay until then. A
/// stream that captures gets a handle of its own: handles().prewarm(key) first.
/// On return: pointer mode host, default math mode and emulation, no atomics, no limit on multiprocessors, the handle's
/// own workspace.
/// @throws as handles() and HandleCache::acquire; Error when no context is current
[[nodiscard]] cublasContext* handle(gpu::Stream stream = {});

}  // namespace larder::cublas
