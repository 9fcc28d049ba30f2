// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuSPARSE handles: one per thread and context, or leased.
//
//   cusparseHandle_t handle = larder::cusparse::handle(stream);     // this thread's, on that stream
//   auto lease = larder::cusparse::handles().acquire(key, stream);  // for a scope
#pragma once

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct cusparseContext;  // as in the vendor's header, where cusparseHandle_t is a pointer to it

namespace larder::cusparse {

using HandleFactory = library::DeviceHandleFactory<cusparseContext*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// The handles of this process; made by the first call, never destroyed.
/// @throws BackendUnavailable when the CUDA driver or cuSPARSE is missing (LARDER_CUSPARSE_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// The calling thread's handle in its current context on that stream.
///
/// The thread keeps it, one for each of the 4 streams it asked for first, and gives all back when it asks for a fifth or
/// ends; that waits for the device, as the streams may have been destroyed. Modes that the thread sets stay until then. A
/// stream that captures gets a handle of its own: handles().prewarm(key) first.
/// On return: pointer mode host.
/// @throws as handles() and HandleCache::acquire; Error when no context is current
[[nodiscard]] cusparseContext* handle(gpu::Stream stream = {});

}  // namespace larder::cusparse
