// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HandleCache: keeps the handles of one factory for reuse, inside a budget.
//
//   larder::HandleCache<Plans> plans{{.max_idle = 64, .max_idle_bytes = 256 << 20}};
//   auto plan = plans.acquire(spec);      // a hit takes tens of nanoseconds; a miss builds
//   execute(*plan, in, out);              // returned at scope exit
//
// Costs: a hit takes one locked instruction on memory no other thread writes, or two where its return cannot be a plain
// store (shared handles, other platforms; docs/design.md). A miss takes one mutex twice, never across
// a create or destroy. An eviction scans the idle handles.
// Not promised: fairness between waiting threads, and the order of uses by different threads between two calls that
// took the mutex.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <larder/budget.hpp>
#include <larder/detail/factory_core.hpp>
#include <larder/error.hpp>
#include <larder/factory.hpp>
#include <larder/lease.hpp>
#include <larder/options.hpp>
#include <larder/stats.hpp>

namespace larder {

/// A bounded cache of the handles that `Factory` makes.
///
/// Every member is safe to call from several threads at once, except the destructor. The caller's current device context
/// is the same after each call as before it, also when the call throws.
template <HandleFactory Factory>
class HandleCache {
 public:
  using Key = typename Factory::Key;
  using Handle = typename Factory::Handle;
  using Deadline = std::chrono::steady_clock::time_point;
  using Stream = detail::StreamOf<Factory>;

  /// Makes an empty cache.
  ///
  /// @param budget   limits on idle handles; see Budget for what an unset field means
  /// @param options  policy, listener, clock and the opt-in limit on live handles
  /// @param factory  moved into the cache; lives as long as the last lease
  /// @throws InvalidArgument when Options::max_live is 0
  explicit HandleCache(Budget budget = {}, Options options = {}) requires std::default_initializable<Factory>
      : HandleCache(budget, options, Factory{}) {}
  HandleCache(Budget budget, Options options, Factory factory)
      : core_(detail::FactoryCore<Factory>::make(budget, options, std::move(factory))) {}

  /// Destroys the idle handles; leased ones are destroyed as they come back, which may be after this.
  ~HandleCache() = default;
  HandleCache(const HandleCache&) = delete;
  HandleCache& operator=(const HandleCache&) = delete;

  /// Leases a handle of this key: an idle one, the one returned last first (with streams: the one whose work delays this
  /// least, docs/design.md), else a new one. With Options::max_live set it waits until a handle comes back.
  ///
  /// @throws whatever Factory::create, bytes, prepare or, with streams, stream_state, wait or synchronize throws; WouldBuild
  /// when the stream captures and no handle is idle; Error when create asks its own cache for the same shared key; Closed
  /// when the cache is destroyed meanwhile
  Lease<Factory> acquire(const Key& key) requires(!StreamFactory<Factory>) {
    return core_->acquire(key, {}, Deadline::max());
  }
  Lease<Factory> acquire(const Key& key, Stream stream) requires StreamFactory<Factory> {
    return core_->acquire(key, stream, Deadline::max());
  }

  /// As acquire(key), but waits no longer than the deadline when Options::max_live handles are leased, or, with
  /// Sharing::shared, while another thread builds the handle.
  ///
  /// @throws DeadlineExceeded
  Lease<Factory> acquire(const Key& key, Deadline deadline) requires(!StreamFactory<Factory>) {
    return core_->acquire(key, {}, deadline);
  }
  Lease<Factory> acquire(const Key& key, Stream stream, Deadline deadline) requires StreamFactory<Factory> {
    return core_->acquire(key, stream, deadline);
  }

  /// Leases an idle (or, with Sharing::shared, a live) handle; an empty lease when there is none. Never builds or waits
  /// for a build.
  ///
  /// @throws as acquire, but nothing of create, and not WouldBuild
  Lease<Factory> try_acquire(const Key& key) requires(!StreamFactory<Factory>) { return core_->try_acquire(key, {}); }
  Lease<Factory> try_acquire(const Key& key, Stream stream) requires StreamFactory<Factory> {
    return core_->try_acquire(key, stream);
  }

  /// Builds until `count` handles of this key are idle, or as many as the budget keeps of one key. Counts no hit.
  ///
  /// @throws whatever Factory::create or bytes throws, Closed; handles built before stay
  void prewarm(const Key& key, std::size_t count = 1) { core_->prewarm(key, count); }

  /// Leases a handle to a caller that cannot hold a Lease; every checkout needs one checkin.
  ///
  /// @throws as acquire
  Handle checkout(const Key& key) requires(!StreamFactory<Factory> && std::copyable<Handle> &&
                                           detail::Hashable<Handle>) {
    return core_->checkout(key);
  }

  /// Returns a checked-out handle.
  ///
  /// @throws UnknownHandle, and changes nothing, when the handle is not checked out of this cache (or no more)
  void checkin(const Handle& handle) requires(!StreamFactory<Factory> && std::copyable<Handle> &&
                                              detail::Hashable<Handle>) {
    core_->checkin(handle);
  }

  /// Replaces the whole budget and evicts at once what no longer fits; unset fields take their defaults.
  void set_budget(Budget budget) { core_->set_budget(budget); }

  /// Destroys every idle handle now and every leased one when it comes back.
  void clear() noexcept { core_->clear(); }

  /// Evicts idle handles, cheapest to lose first, until `bytes` are freed or none is left.
  ///
  /// @return bytes freed; 0 for factories without `bytes`, whose idle handles are then all given up when bytes > 0
  std::size_t trim(std::size_t bytes) noexcept { return core_->trim(bytes); }

  /// The context is gone: forgets its handles without destroying them, leased ones when they come back, and what the
  /// factory itself has in it.
  void invalidate(const detail::ContextOf<Factory>& context) noexcept requires ContextFactory<Factory> {
    core_->invalidate(context);
  }

  /// Takes in the handles that came back through Lease::release_deferred.
  void drain() noexcept { core_->drain(); }

  [[nodiscard]] Stats stats() const { return core_->stats(); }

  /// The factory, for its own counters and settings; shared with concurrent calls on the cache.
  [[nodiscard]] Factory& factory() noexcept { return core_->factory(); }

 private:
  std::unique_ptr<detail::FactoryCore<Factory>, detail::CloseCore> core_;
};

}  // namespace larder
