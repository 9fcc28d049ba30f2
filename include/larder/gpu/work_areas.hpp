// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WorkAreas: scratch memory of a device, one area per stream instead of one per handle.
//
// Work that one stream runs is in order, so all handles that it uses may share its area. An area never moves: a request
// for more replaces it by one at least twice as large, so what is replaced sums to no more than what is there. States:
//
//   current   the stream's; entered by leases
//   captured  a captured graph uses it: current for that capture alone, and kept until release_captured()
//   given up  replaced, or taken by trim(): freed by whoever gave it up, or else by the last user that leaves
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <larder/gpu/allocator.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/stream_state.hpp>

namespace larder::gpu {

class WorkArea;

/// An area as a handle remembers it, also when it is not using it.
struct WorkAreaRef {
  WorkArea* area = nullptr;
  std::uint32_t generation = 0;

  explicit operator bool() const noexcept { return area != nullptr; }
  [[nodiscard]] void* memory() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept;
};

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

  /// The stream's area for one more user, of at least `bytes`. The context must be current.
  ///
  /// While the stream captures, the area is one of that capture alone. When memory is short, unused areas are given up,
  /// except during a capture.
  /// @throws what the allocator throws; DriverError
  [[nodiscard]] WorkAreaRef enter(const Context& context, Stream stream, StreamState state, std::size_t bytes);

  /// One more user of an area entered before; false when it was given up meanwhile.
  [[nodiscard]] static bool reenter(const WorkAreaRef& ref) noexcept;

  /// One user less. An area that was given up is freed in the order of its stream, which must still exist.
  void leave(const WorkAreaRef& ref) noexcept;

  /// Gives up every area that nobody uses, except captured ones. May wait for the device.
  /// @return bytes freed
  std::size_t trim() noexcept;

  /// Gives up the areas of all captures; their graphs must not run any more.
  void release_captured() noexcept;

  /// The context is gone, and its memory with it.
  void invalidate(const Context& context) noexcept;

  /// Device memory held now, in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace larder::gpu
