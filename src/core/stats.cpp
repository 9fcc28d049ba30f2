// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/stats.hpp>

namespace larder {

std::string_view to_string(EvictionCause cause) noexcept {
  switch (cause) {
    case EvictionCause::budget: return "budget";
    case EvictionCause::per_key: return "per_key";
    case EvictionCause::bytes: return "bytes";
    case EvictionCause::age: return "age";
    case EvictionCause::pressure: return "pressure";
    case EvictionCause::cleared: return "cleared";
    case EvictionCause::discarded: return "discarded";
    case EvictionCause::invalidated: return "invalidated";
  }
  return "unknown";
}

}  // namespace larder
