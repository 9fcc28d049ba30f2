// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN handles: one per thread and context, or leased.
//
//   cudnnHandle_t handle = larder::cudnn::handle(stream);        // this thread's, on that stream
//   auto lease = larder::cudnn::handles().acquire(key, stream);  // for a scope
#pragma once

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct cudnnContext;  // as in the vendor's header, where cudnnHandle_t is a pointer to it

namespace larder::cudnn {

using HandleFactory = library::DeviceHandleFactory<cudnnContext*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// The handles of this process; made by the first call, never destroyed. A handle holds about 8 MiB on an H200.
/// @throws BackendUnavailable when the CUDA driver or cuDNN is missing (LARDER_CUDNN_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// The calling thread's handle in its current context on that stream.
///
/// The thread keeps it, one for each of the 4 streams it asked for first, and gives all back when it asks for a fifth or
/// ends; that waits for the device, as the streams may have been destroyed. Modes that the thread sets stay until then. A
/// stream that captures gets a handle of its own: handles().prewarm(key) first.
/// @throws as handles() and HandleCache::acquire; Error when no context is current
[[nodiscard]] cudnnContext* handle(gpu::Stream stream = {});

}  // namespace larder::cudnn
