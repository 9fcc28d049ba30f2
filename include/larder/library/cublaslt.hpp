// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt handles: one per thread and context, or leased.
//
//   cublasLtHandle_t handle = larder::cublaslt::handle(stream);     // this thread's, on that stream
//   auto lease = larder::cublaslt::handles().acquire(key, stream);  // for a scope
#pragma once

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct cublasLtContext;  // as in the vendor's header, where cublasLtHandle_t is a pointer to it

namespace larder::cublaslt {

using HandleFactory = library::DeviceHandleFactory<cublasLtContext*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// The handles of this process; made by the first call, never destroyed. Nothing sticks to a handle.
/// @throws BackendUnavailable when the CUDA driver or cuBLASLt is missing (LARDER_CUBLASLT_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// The calling thread's handle in its current context on that stream.
///
/// The thread keeps it, one for each of the 4 streams it asked for first, and gives all back when it asks for a fifth or
/// ends; that waits for the device, as the streams may have been destroyed. Modes that the thread sets stay until then. A
/// stream that captures gets a handle of its own: handles().prewarm(key) first.
/// @throws as handles() and HandleCache::acquire; Error when no context is current
[[nodiscard]] cublasLtContext* handle(gpu::Stream stream = {});

}  // namespace larder::cublaslt
