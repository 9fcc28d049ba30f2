// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/current_context.hpp>

namespace larder::gpu {

CurrentContext::CurrentContext(Driver& driver, const Context& context) : driver_(&driver), pushed_(false) {
  if (driver.is_current(context)) {
    before_ = context;
  } else {
    before_ = driver.current();
    driver.push(context);
    pushed_ = true;
  }
  capture_mode_ = driver.relax_capture_mode();
}

CurrentContext::~CurrentContext() {
  if (driver_ == nullptr) return;
  driver_->restore_capture_mode(capture_mode_);
  if (pushed_) driver_->pop();
  // A library may have left another context current, above ours or in its place.
  if (!driver_->is_current(before_)) driver_->set_current(before_);
}

}  // namespace larder::gpu
