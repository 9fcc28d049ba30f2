// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one cache per library and process, and what each thread holds of it.
#pragma once

#include <larder/gpu/cuda.hpp>
#include <larder/library/device_handle.hpp>
#include <larder/library/held_handles.hpp>

namespace larder::library {

/// @param calls  gives the library's calls, or throws; asked again after it threw
template <class Factory, class MakeCalls>
[[nodiscard]] HandleCache<Factory>& process_handles(MakeCalls&& calls) {
  // Never destroyed: threads give their handles back at any time until the process ends.
  static auto& cache = *new HandleCache<Factory>({}, {}, Factory(gpu::cuda(), calls()));
  return cache;
}

template <class Factory>
[[nodiscard]] auto handle_of_this_thread(HandleCache<Factory>& cache, gpu::Stream stream) {
  thread_local HeldHandles<Factory> held(cache, gpu::cuda());
  return held.on(stream);
}

}  // namespace larder::library
