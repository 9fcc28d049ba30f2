// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a sanitizer has put its own allocator in the place of malloc.
#pragma once

namespace larder::fft::tests {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace larder::fft::tests
