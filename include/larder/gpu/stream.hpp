// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream: a queue of device work, as the caller's vendor type points to it.
#pragma once

#include <cstddef>

namespace larder::gpu {

/// A stream of any vendor; converts from cudaStream_t, CUstream and hipStream_t. The default is the default stream of
/// the context that a key names.
///
/// CUDA's per-thread default stream (cudaStreamPerThread) means another stream in every thread: a lease that was
/// acquired for it is to be returned by the same thread.
class Stream {
 public:
  constexpr Stream() noexcept = default;
  constexpr Stream(std::nullptr_t) noexcept {}
  template <class Native>
  constexpr Stream(Native* native) noexcept : native_(native) {}

  [[nodiscard]] constexpr void* native() const noexcept { return native_; }

  /// The native pointers are equal, which a destroyed stream and its successor may be; see Driver::stream_id.
  friend constexpr bool operator==(const Stream&, const Stream&) noexcept = default;

 private:
  void* native_ = nullptr;
};

}  // namespace larder::gpu
