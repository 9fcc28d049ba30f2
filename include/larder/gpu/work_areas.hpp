// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WorkAreas: scratch memory of a device, one area per stream instead of one per handle.
//
// Work that one stream runs is in order, so all handles that it uses may share its area. An area never moves: a request
// for more replaces it by a larger one, and the old one is freed, in the order of the stream, when the last lease that
// uses it ends. States of an area:
//
//   current   the stream's; entered by leases
//   replaced  a larger one took its place, or trim() gave it up: freed when the last user leaves
//   captured  a captured graph uses it: kept until release_captured(), as the graph may run at any time
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <larder/gpu/allocator.hpp>
#include <larder/gpu/driver.hpp>

namespace larder::gpu {

/// Scratch memory that one stream's work shares.
class WorkArea;

/// The work areas of all streams of a driver; safe from several threads at once.
class WorkAreas {
 public:
  /// @param driver     must outlive this object
  /// @param allocator  must outlive this object; default: the driver's own stream-ordered memory
  explicit WorkAreas(Driver& driver, Allocator* allocator = nullptr);
  /// Frees what no lease uses; what a lease still uses is leaked.
  ~WorkAreas();
  WorkAreas(const WorkAreas&) = delete;
  WorkAreas& operator=(const WorkAreas&) = delete;

  /// The stream's area for one more user, grown to at least `bytes`. The context must be current.
  ///
  /// While the stream captures, the area is one of the capture alone, and stays until release_captured().
  /// @throws what the allocator throws; DriverError
  [[nodiscard]] WorkArea& enter(const Context& context, Stream stream, std::uint64_t stream_id, std::size_t bytes);

  /// One more user of an area entered before; false when it was replaced meanwhile.
  [[nodiscard]] static bool reenter(WorkArea& area) noexcept;

  /// One user less. The context must be current when the area may have been replaced.
  void leave(WorkArea& area) noexcept;

  /// Gives up every area, except captured ones; those in use go when their last user leaves. Waits for the device.
  /// @return bytes freed
  std::size_t trim() noexcept;

  /// Frees the areas of all captures; their graphs must not run any more.
  void release_captured() noexcept;

  /// The context is gone, and its memory with it.
  void invalidate(const Context& context) noexcept;

  /// Device memory held now, in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The memory of an area.
[[nodiscard]] void* data(const WorkArea& area) noexcept;
[[nodiscard]] std::size_t size(const WorkArea& area) noexcept;

}  // namespace larder::gpu
