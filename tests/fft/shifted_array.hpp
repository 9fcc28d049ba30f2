// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ShiftedArray: an array at a chosen distance from the alignment that FFTW likes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace larder::fft::tests {

/// `size` values of type T, value-initialised, `shift` bytes past an address that is a multiple of 64.
template <class T>
class ShiftedArray {
 public:
  explicit ShiftedArray(std::size_t size, std::size_t shift = 0)
      : memory_(std::aligned_alloc(64, (size * sizeof(T) + shift + 64) / 64 * 64)),
        data_(reinterpret_cast<T*>(static_cast<std::byte*>(memory_.get()) + shift)),
        size_(size) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::uninitialized_value_construct_n(data_, size);
  }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  T* data_;
  std::size_t size_;
};

}  // namespace larder::fft::tests
