// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StreamOrdered: what the factories of all handles have in common whose work runs on streams of a device.
#pragma once

#include <memory>

#include <larder/error.hpp>

#include <larder/gpu/current_context.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/gpu/event.hpp>

namespace larder::gpu {

/// Base of a factory: the context of a key, and the order of the work of a handle's leases; see HandleFactory.
///
/// KeyType has `const gpu::Context& context() const`.
template <class KeyType>
class StreamOrdered {
 public:
  using Context = gpu::Context;
  using Stream = gpu::Stream;
  using Event = gpu::Event;

  /// @param driver  must outlive the cache and its leases
  explicit StreamOrdered(Driver& driver)
      : driver_(&driver), events_(std::make_shared<EventCache>(Budget{}, Options{}, EventFactory(driver))) {}

  [[nodiscard]] Context context(const KeyType& key) const { return key.context(); }
  [[nodiscard]] CurrentContext enter(const KeyType& key) const { return {*driver_, key.context()}; }
  [[nodiscard]] bool alive(const KeyType& key) const noexcept { return driver_->alive(key.context()); }

  [[nodiscard]] StreamState stream_state(const KeyType& key, Stream stream) const {
    return in_context_of(key, stream, [&] { return driver_->stream_state(stream); });
  }
  /// @throws Error when the stream captures by now: what the lease gave it may be in the graph
  void record(const KeyType& key, Event& event, Stream stream) {
    in_context_of(key, stream, [&] {
      if (driver_->capture_id(stream) != 0) throw Error("a lease from before a capture is returned within it");
      event.record(*driver_, *events_, key.context(), stream);
    });
  }
  void wait(const KeyType& key, Stream stream, const Event& event) {
    in_context_of(key, stream, [&] { driver_->wait(stream, event.native()); });
  }
  [[nodiscard]] bool done(const KeyType& key, const Event& event) const {
    const CurrentContext inside(*driver_, key.context());
    return driver_->done(event.native());
  }
  void synchronize(const KeyType& key, const Event& event) {
    const CurrentContext inside(*driver_, key.context());
    driver_->synchronize(event.native());
  }

 protected:
  [[nodiscard]] Driver& driver() const noexcept { return *driver_; }

 private:
  /// A stream knows its context, except for the default streams, which are of the current one.
  template <class Call>
  decltype(auto) in_context_of(const KeyType& key, Stream stream, Call&& call) const {
    if (!driver_->is_default(stream)) return call();
    const CurrentContext inside(*driver_, key.context());
    return call();
  }

  Driver* driver_;
  std::shared_ptr<EventCache> events_;
};

}  // namespace larder::gpu
