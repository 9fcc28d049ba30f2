// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dynamic_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include <larder/error.hpp>

namespace larder::gpu {

namespace {

std::string last_loader_error() {
  const char* const error = dlerror();
  return error == nullptr ? "no reason given" : error;
}

std::string file_of(void* library, const std::string& otherwise) {
  char origin[4096];
  if (dlinfo(library, RTLD_DI_ORIGIN, origin) != 0) return otherwise;
  const std::size_t slash = otherwise.rfind('/');
  return std::string(origin) + "/" + (slash == std::string::npos ? otherwise : otherwise.substr(slash + 1));
}

}  // namespace

DynamicLibrary::DynamicLibrary(std::string name, const char* variable, std::initializer_list<const char*> sonames)
    : name_(std::move(name)) {
  const char* const chosen = std::getenv(variable);
  if (chosen != nullptr && *chosen != '\0') {
    library_ = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      throw BackendUnavailable(name_ + ": " + variable + " names '" + chosen +
                               "', which cannot be loaded: " + last_loader_error());
    }
    path_ = file_of(library_, chosen);
    return;
  }
  std::string tried;
  for (const char* const soname : sonames) {
    library_ = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) {
      path_ = file_of(library_, soname);
      return;
    }
    tried += "\n  " + last_loader_error();
  }
  throw BackendUnavailable(name_ + " was not found; looked for:" + tried + "\nPoint " + variable + " at the library.");
}

void* DynamicLibrary::find_optional(const char* symbol) const noexcept { return dlsym(library_, symbol); }

void* DynamicLibrary::find(const char* symbol) const {
  void* const found = find_optional(symbol);
  if (found == nullptr) {
    throw BackendUnavailable(name_ + ": " + path_ + " has no function " + symbol +
                             "; this version of the library is not supported");
  }
  return found;
}

}  // namespace larder::gpu
