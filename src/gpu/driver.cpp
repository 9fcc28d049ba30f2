// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/driver.hpp>

namespace larder::gpu {

DriverError::DriverError(const std::string& call, long code, const std::string& code_name)
    : Error(call + " failed: " + code_name + " (" + std::to_string(code) + ")"), code_(code) {}

}  // namespace larder::gpu
