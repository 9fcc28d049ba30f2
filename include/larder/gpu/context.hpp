// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Context: a device context by an identity that is never reused.
#pragma once

#include <cstdint>

namespace larder::gpu {

/// A device context; the default means none (the host).
///
/// Two contexts are equal when the ids are: a new context at the address of an old one is a different context.
struct Context {
  void* native = nullptr;  ///< CUcontext or hipCtx_t
  std::uint64_t id = 0;    ///< unique for the life of the process; 0: none

  friend bool operator==(const Context& a, const Context& b) noexcept { return a.id == b.id; }
};

}  // namespace larder::gpu
