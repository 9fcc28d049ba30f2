// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ContextPlans, StreamPlans: factories of plans over a SimulatedDriver, the least that a library on a device is.
//
// What the driver cannot know is noticed here, and listed with its violations: a context entered after its loss, where a
// cache could take the driver's error for a handle to abandon; a plan made outside the context of its key; work given to a
// stream that the plan was not prepared for; and an event that ends outside its context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <larder/factory.hpp>
#include <larder/gpu/current_context.hpp>
#include <larder/gpu/event.hpp>
#include <larder/gpu/stream_ordered.hpp>

#include "doubles/simulated_driver.hpp"

namespace larder::doubles {

class DevicePlanKey {
 public:
  DevicePlanKey(const gpu::Context& context, int size) : context_(context), size_(size) {}
  [[nodiscard]] const gpu::Context& context() const noexcept { return context_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  friend bool operator==(const DevicePlanKey&, const DevicePlanKey&) = default;

 private:
  gpu::Context context_;
  int size_;
};

/// A handle; two are equal when the objects are.
struct DevicePlan {
  ObjectId object = 0;
  gpu::Context context;      // that was current when it was made
  gpu::Stream prepared_for;  // the stream of its lease
  friend bool operator==(const DevicePlan& a, const DevicePlan& b) noexcept { return a.object == b.object; }
};

/// What both factories have in common. The driver's hook is called with the names of the members that are none of the
/// driver's: "prepare", "reset" and "bytes" before anything else, "destroy" once the plan is destroyed.
class DevicePlans {
 public:
  using Key = DevicePlanKey;
  using Handle = DevicePlan;

  explicit DevicePlans(SimulatedDriver& driver) : driver_(&driver) {}

  Handle create(const Key& key) {
    if (!driver_->is_current(key.context())) driver_->report("create outside the context of the key");
    const gpu::Context made_in = driver_->current();
    return {driver_->create_object("plan", static_cast<std::size_t>(key.size())), made_in, {}};
  }
  void destroy(const Key&, const Handle& plan) {
    driver_->destroy_object(plan.object);
    driver_->call("destroy");
  }
  [[nodiscard]] std::size_t bytes(const Key& key, const Handle& plan) const {
    call(plan, "bytes");
    return static_cast<std::size_t>(key.size());
  }
  [[nodiscard]] std::string describe(const Key& key) const {
    return "size " + std::to_string(key.size()) + " in context " + std::to_string(key.context().id);
  }
  /// @throws gpu::DriverError when the context is gone, which is also wrong use
  [[nodiscard]] gpu::CurrentContext enter(const Key& key) const {
    if (!driver_->alive(key.context())) driver_->report("enter of a context after its loss");
    return {*driver_, key.context()};
  }

 protected:
  void call(const Handle& plan, const std::string& member) const {
    driver_->touch(plan.object, member);
    driver_->call(member);
  }
  [[nodiscard]] SimulatedDriver& simulated() const noexcept { return *driver_; }

 private:
  SimulatedDriver* driver_;
};

/// Plans that belong to a context and are used without a stream.
class ContextPlans : public DevicePlans {
 public:
  using Context = gpu::Context;
  using DevicePlans::DevicePlans;

  void prepare(const Key&, Handle& plan) { call(plan, "prepare"); }
  void reset(const Key&, Handle& plan) { call(plan, "reset"); }
  [[nodiscard]] Context context(const Key& key) const { return key.context(); }
  [[nodiscard]] bool alive(const Key& key) const noexcept { return simulated().alive(key.context()); }
};

/// An event that notices where it is destroyed: the driver sees no call then, as the event goes back to a cache.
class DeviceEvent : public gpu::Event {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  ~DeviceEvent() {
    if (driver_ != nullptr && !driver_->is_current(context_)) driver_->report("event destroyed outside its context");
  }
  void belongs_to(SimulatedDriver& driver, const gpu::Context& context) noexcept {
    driver_ = &driver;
    context_ = context;
  }

 private:
  SimulatedDriver* driver_ = nullptr;
  gpu::Context context_;
};

/// Plans whose work runs on streams and outlives the lease.
class StreamPlans : public DevicePlans, public gpu::StreamOrdered<DevicePlanKey> {
 public:
  using Event = DeviceEvent;
  using DevicePlans::enter;

  explicit StreamPlans(SimulatedDriver& driver) : DevicePlans(driver), StreamOrdered(driver) {}

  void prepare(const Key& key, Handle& plan, Stream stream, StreamState) {
    const gpu::CurrentContext inside = enter(key);
    call(plan, "prepare");
    plan.prepared_for = stream;
  }
  void reset(const Key& key, Handle& plan) {
    const gpu::CurrentContext inside = enter(key);
    call(plan, "reset");
  }
  void record(const Key& key, Event& event, Stream stream) {
    event.belongs_to(simulated(), key.context());
    StreamOrdered::record(key, event, stream);
  }
};

/// Gives work that uses the plan to a stream.
inline void launch(SimulatedDriver& driver, const DevicePlan& plan, gpu::Stream stream) {
  if (!(plan.prepared_for == stream)) driver.report("launch on a stream that the plan was not prepared for");
  const gpu::CurrentContext inside(driver, plan.context);
  driver.launch(plan.object, stream);
}

[[nodiscard]] inline gpu::Stream stream_in(SimulatedDriver& driver, const gpu::Context& context) {
  const gpu::CurrentContext inside(driver, context);
  return driver.create_stream();
}

}  // namespace larder::doubles

template <>
struct std::hash<larder::doubles::DevicePlanKey> {
  std::size_t operator()(const larder::doubles::DevicePlanKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.context().id) * 1000003U + static_cast<std::size_t>(key.size());
  }
};
