// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocator: where larder takes device memory from; the hook for RMM or a framework's caching allocator.
#pragma once

#include <cstddef>

#include <larder/gpu/stream.hpp>

namespace larder::gpu {

/// A source of device memory in the current context; safe from several threads at once.
class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;

  /// Memory for work that is given to the stream from now on. May throw.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  /// Takes it back once the work given to the stream so far is done.
  virtual void free(void* memory, std::size_t bytes, Stream stream) noexcept = 0;
  /// Takes it back after all work of the context; its stream may have gone.
  virtual void free_when_idle(void* memory, std::size_t bytes) noexcept = 0;
};

}  // namespace larder::gpu
