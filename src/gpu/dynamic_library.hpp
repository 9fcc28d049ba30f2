// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DynamicLibrary: a vendor's library, loaded at run time.
#pragma once

#include <initializer_list>
#include <string>

namespace larder::gpu {

/// A loaded library; never unloaded, since vendors' libraries do not survive that.
class DynamicLibrary {
 public:
  /// Loads the library that the environment variable names, else the first of these sonames that is found.
  ///
  /// @param name      of the product, for messages: "cuFFT"
  /// @param variable  for example "LARDER_CUFFT_LIBRARY": the path or soname of another build of the library
  /// @param sonames   newest first
  /// @throws BackendUnavailable telling what was looked for, what the loader said, and how to point at it
  DynamicLibrary(std::string name, const char* variable, std::initializer_list<const char*> sonames);

  /// @throws BackendUnavailable when the library lacks the function
  template <class Function>
  void bind(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }
  /// nullptr when the library lacks the function.
  template <class Function>
  void bind_optional(Function*& function, const char* symbol) const noexcept {
    function = reinterpret_cast<Function*>(find_optional(symbol));
  }

  /// The file that was loaded.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] void* find(const char* symbol) const;
  [[nodiscard]] void* find_optional(const char* symbol) const noexcept;

  std::string name_;
  std::string path_;
  void* library_ = nullptr;
};

}  // namespace larder::gpu
