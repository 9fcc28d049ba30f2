// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lease: the right to use one handle.
#pragma once

#include <utility>

#include <larder/detail/factory_core.hpp>
#include <larder/factory.hpp>

namespace larder {

/// The right to use one handle until this object goes out of scope; move-only, empty after a move or release.
///
/// Return a lease for a stream while the stream exists, as the end of its work is recorded then (or see release_done);
/// before the stream begins to capture, or after it: returned within, its handle is abandoned, since the graph may use it.
///
/// A lease stays good whatever happens to its cache (clear, set_budget, destruction). It may be returned on another thread
/// than it was acquired on. Distinct leases may be used at once; one lease is for one thread at a time.
template <HandleFactory Factory>
class [[nodiscard]] Lease {
 public:
  using Key = typename Factory::Key;
  using Handle = typename Factory::Handle;

  Lease() noexcept = default;
  Lease(Lease&& other) noexcept : core_(other.core_), slot_(std::exchange(other.slot_, nullptr)) {}
  Lease& operator=(Lease&& other) noexcept {
    if (this != &other) {
      release();
      core_ = other.core_;
      slot_ = std::exchange(other.slot_, nullptr);
    }
    return *this;
  }
  ~Lease() { release(); }

  /// Whether this lease holds a handle.
  explicit operator bool() const noexcept { return slot_ != nullptr; }

  /// The handle; the lease must hold one.
  [[nodiscard]] const Handle& operator*() const noexcept { return slot_->handle(); }
  [[nodiscard]] const Handle& get() const noexcept { return slot_->handle(); }
  [[nodiscard]] const Handle* operator->() const noexcept { return &slot_->handle(); }

  /// The key the handle was built for.
  [[nodiscard]] const Key& key() const noexcept { return slot_->key(); }

  /// Returns the handle now. Does nothing on an empty lease.
  void release() noexcept {
    if (slot_ != nullptr) core_->release(*std::exchange(slot_, nullptr));
  }

  /// Returns a handle all of whose work is known to be done; its stream is not touched, and may have gone.
  void release_done() noexcept requires StreamFactory<Factory> {
    if (slot_ != nullptr) core_->release(*std::exchange(slot_, nullptr), true);
  }

  /// Gives up a handle whose work can be neither marked nor waited for: it is never used nor destroyed.
  void abandon() noexcept {
    if (slot_ != nullptr) core_->abandon_leased(*std::exchange(slot_, nullptr));
  }

  /// Gives up a handle that is broken: it is destroyed, once its last lease is gone, instead of returned.
  void discard() noexcept {
    if (slot_ != nullptr) core_->discard(*std::exchange(slot_, nullptr));
  }

  /// Returns the handle without locking, allocating or calling the factory, for finalizers and GPU host callbacks.
  ///
  /// The handle counts as leased until the next call on the cache, or drain(), takes it in on that call's thread.
  /// That is when the work of a lease for a stream is marked: its stream must still exist then, and be the same one for that
  /// thread (not cudaStreamPerThread).
  void release_deferred() noexcept {
    if (slot_ != nullptr) core_->release_deferred(*std::exchange(slot_, nullptr));
  }

 private:
  friend class detail::FactoryCore<Factory>;
  using Core = detail::FactoryCore<Factory>;
  using Slot = typename Core::Slot;

  Lease(Core& core, Slot& slot) noexcept : core_(&core), slot_(&slot) {}

  Core* core_ = nullptr;
  Slot* slot_ = nullptr;
};

}  // namespace larder
