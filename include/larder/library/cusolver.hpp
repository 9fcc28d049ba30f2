// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuSOLVER (dense) handles: one per thread and context, or leased.
//
//   cusolverDnHandle_t handle = larder::cusolver::handle(stream);   // this thread's, on that stream
//   auto lease = larder::cusolver::handles().acquire(key, stream);  // for a scope
#pragma once

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct cusolverDnContext;  // as in the vendor's header, where cusolverDnHandle_t is a pointer to it

namespace larder::cusolver {

using HandleFactory = library::DeviceHandleFactory<cusolverDnContext*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// The handles of this process; made by the first call, never destroyed. A handle holds 96 MiB on an H200.
/// @throws BackendUnavailable when the CUDA driver or cuSOLVER is missing (LARDER_CUSOLVER_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// The calling thread's handle in its current context on that stream.
///
/// The thread keeps it, one for each of the 4 streams it asked for first, and gives all back when it asks for a fifth or
/// ends; that waits for the device, as the streams may have been destroyed. Modes that the thread sets stay until then. A
/// stream that captures gets a handle of its own: handles().prewarm(key) first.
/// On return: deterministic results, default math mode and emulation.
/// @throws as handles() and HandleCache::acquire; Error when no context is current
[[nodiscard]] cusolverDnContext* handle(gpu::Stream stream = {});

}  // namespace larder::cusolver
