// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Abandonable: an optional value that can be forgotten without running its destructor.
#pragma once

#include <memory>
#include <new>
#include <utility>

namespace larder::detail {

/// Holds at most one T. A value that belongs to a library or context which has gone must not be destroyed: abandon() it.
template <class T>
class Abandonable {
 public:
  Abandonable() noexcept = default;
  Abandonable(const Abandonable&) = delete;
  Abandonable& operator=(const Abandonable&) = delete;
  ~Abandonable() { reset(); }

  template <class... Arguments>
  T& emplace(Arguments&&... arguments) {
    reset();
    T* const made = ::new (static_cast<void*>(storage_)) T(std::forward<Arguments>(arguments)...);
    held_ = true;
    return *made;
  }
  void reset() noexcept {
    if (std::exchange(held_, false)) std::destroy_at(get());
  }
  void abandon() noexcept { held_ = false; }

  [[nodiscard]] bool has_value() const noexcept { return held_; }
  [[nodiscard]] T& operator*() noexcept { return *get(); }
  [[nodiscard]] const T& operator*() const noexcept { return *std::launder(reinterpret_cast<const T*>(storage_)); }

 private:
  [[nodiscard]] T* get() noexcept { return std::launder(reinterpret_cast<T*>(storage_)); }

  alignas(T) unsigned char storage_[sizeof(T)];
  bool held_ = false;
};

}  // namespace larder::detail
