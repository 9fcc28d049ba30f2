// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CurrentContext: makes a context current for a scope.
#pragma once

#include <utility>

#include <larder/gpu/driver.hpp>

namespace larder::gpu {

/// Makes a context current on this thread for a scope, and restores what was current before, also when a library changed
/// it meanwhile. Calls made inside do not break a stream capture going on elsewhere.
class [[nodiscard]] CurrentContext {
 public:
  /// @throws DriverError when the context is gone
  CurrentContext(Driver& driver, const Context& context);
  CurrentContext(CurrentContext&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)),
        before_(other.before_),
        pushed_(other.pushed_),
        capture_mode_(other.capture_mode_) {}
  CurrentContext& operator=(CurrentContext&&) = delete;
  ~CurrentContext();

 private:
  Driver* driver_;
  Context before_;
  bool pushed_;
  int capture_mode_;
};

}  // namespace larder::gpu
