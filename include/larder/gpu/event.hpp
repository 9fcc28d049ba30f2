// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event: marks the end of the work that a handle's last lease gave to its stream; leased from a cache of events.
#pragma once

#include <cstddef>
#include <functional>

#include <larder/gpu/current_context.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/handle_cache.hpp>

namespace larder::gpu {

/// The key of an event: its context.
struct EventKey {
  Context context;
  friend bool operator==(const EventKey&, const EventKey&) = default;
};

}  // namespace larder::gpu

template <>
struct std::hash<larder::gpu::EventKey> {
  std::size_t operator()(const larder::gpu::EventKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.context.id);
  }
};

namespace larder::gpu {

/// Makes events; see HandleFactory.
class EventFactory {
 public:
  using Key = EventKey;
  using Handle = NativeEvent;
  using Context = gpu::Context;
  static constexpr Budget default_budget{.max_idle = 256};

  explicit EventFactory(Driver& driver) noexcept : driver_(&driver) {}

  NativeEvent create(const EventKey&) { return driver_->create_event(); }
  void destroy(const EventKey&, NativeEvent event) { driver_->destroy_event(event); }
  [[nodiscard]] Context context(const EventKey& key) const noexcept { return key.context; }
  [[nodiscard]] CurrentContext enter(const EventKey& key) const { return {*driver_, key.context}; }
  [[nodiscard]] bool alive(const EventKey& key) const noexcept { return driver_->alive(key.context); }

 private:
  Driver* driver_;
};

using EventCache = HandleCache<EventFactory>;

/// An event of one handle: none until the first record, then the same one until the handle goes.
class Event {
 public:
  /// @throws DriverError
  void record(Driver& driver, EventCache& events, const Context& context, Stream stream) {
    if (!event_) event_ = events.acquire({context});
    driver.record(*event_, stream);
  }
  /// The driver's event; only after a record.
  [[nodiscard]] NativeEvent native() const noexcept { return *event_; }

 private:
  Lease<EventFactory> event_;
};

}  // namespace larder::gpu
