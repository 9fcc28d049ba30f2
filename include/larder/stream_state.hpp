// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StreamState: what decides which handle a request on a stream may have.
#pragma once

#include <cstdint>

namespace larder {

/// Which stream a request is for, and whether its work runs now.
struct StreamState {
  /// Never 0, and never that of another stream, now or later. While the stream captures: of that branch of the capture
  /// instead, as branches may run side by side.
  std::uint64_t id = 0;
  bool capturing = false;  ///< the stream's work goes into a graph, to run later
};

}  // namespace larder
