// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/error.hpp>

#include <utility>

namespace larder {

namespace {

std::string build_failed_message(const std::string& backend, long code, const std::string& code_name,
                                 const std::string& key) {
  return backend + " could not create a handle for " + key + ": " + code_name + " (" + std::to_string(code) + ")";
}

}  // namespace

BuildFailed::BuildFailed(std::string backend, long code, std::string code_name, std::string key, Retry retry)
    : Error(build_failed_message(backend, code, code_name, key)),
      backend_(std::move(backend)),
      code_(code),
      code_name_(std::move(code_name)),
      key_(std::move(key)),
      retry_(retry) {}

}  // namespace larder
