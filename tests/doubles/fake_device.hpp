// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeDevice: a simulated device driver that knows right use from wrong, and DevicePlans, a factory on top of it.
//
// Contexts: each has an address, reused after it is lost, and an id, never reused. Every thread has a stack of current
// contexts. Streams run asynchronously: what is launched stays pending until an event or stream is synchronised. Order
// between streams is tracked by vector clocks, so a use that is not ordered after the handle's last use on another
// stream is noticed whatever the timing. Wrong use never stops a test; it is listed in violations().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <larder/factory.hpp>

namespace larder::doubles {

/// A context of the simulated device; equal when the ids are.
struct DeviceContext {
  std::uint64_t id = 0;  // 0: none
  std::size_t address = 0;
  friend bool operator==(const DeviceContext& a, const DeviceContext& b) noexcept { return a.id == b.id; }
};

/// A stream; number 0 is no stream.
struct DeviceStream {
  int number = 0;
  friend bool operator==(const DeviceStream&, const DeviceStream&) = default;
};

/// For each stream, how many of its launches come before.
using StreamClock = std::map<int, std::uint64_t>;

/// What a handle of the simulated device points to.
struct DevicePlan {
  DeviceContext context;
  std::uint64_t number = 0;
  int size = 0;
  bool destroyed = false;
  DeviceStream prepared_for;
  int last_stream = 0;  // of its last launch
  std::uint64_t last_launch = 0;
};

class FakeDevice {
 public:
  // --- Contexts ------------------------------------------------------------------------------------------------------

  [[nodiscard]] DeviceContext create_context() {
    const std::lock_guard lock(mutex_);
    std::size_t address = 1;
    while (std::any_of(contexts_.begin(), contexts_.end(), [address](const auto& c) { return c.second == address; }))
      ++address;
    const DeviceContext made{++last_context_, address};
    contexts_.emplace(made.id, address);
    return made;
  }
  /// Device reset: the context and everything in it is gone.
  void lose_context(DeviceContext context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context.id);
  }
  [[nodiscard]] bool alive(DeviceContext context) const {
    const std::lock_guard lock(mutex_);
    return contexts_.count(context.id) > 0;
  }
  [[nodiscard]] DeviceContext current() const {
    const std::lock_guard lock(mutex_);
    const auto found = stacks_.find(std::this_thread::get_id());
    return found == stacks_.end() || found->second.empty() ? DeviceContext{} : found->second.back();
  }
  /// This thread's whole stack of current contexts, to compare and to restore.
  [[nodiscard]] std::vector<DeviceContext> stack() const {
    const std::lock_guard lock(mutex_);
    const auto found = stacks_.find(std::this_thread::get_id());
    return found == stacks_.end() ? std::vector<DeviceContext>{} : found->second;
  }
  void set_stack(std::vector<DeviceContext> stack) {
    const std::lock_guard lock(mutex_);
    stacks_[std::this_thread::get_id()] = std::move(stack);
  }
  void push(DeviceContext context) {
    const std::lock_guard lock(mutex_);
    if (contexts_.count(context.id) == 0) violate("context " + std::to_string(context.id) + " entered after its loss");
    stacks_[std::this_thread::get_id()].push_back(context);
  }
  /// Replaces the current context, as a library does that switches devices.
  void set_current(DeviceContext context) {
    const std::lock_guard lock(mutex_);
    auto& stack = stacks_[std::this_thread::get_id()];
    if (stack.empty()) {
      stack.push_back(context);
    } else {
      stack.back() = context;
    }
  }

  // --- Streams and events --------------------------------------------------------------------------------------------

  [[nodiscard]] DeviceStream create_stream() {
    const std::lock_guard lock(mutex_);
    return {++last_stream_};
  }
  /// Gives work that uses the plan to the stream; it stays pending.
  void launch(DevicePlan& plan, DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    require_usable(plan, "launch");
    if (!(plan.prepared_for == stream)) violate(name(plan) + " launched on a stream it was not prepared for");
    StreamClock& clock = clocks_[stream.number];
    if (plan.last_stream != 0 && std::max(clock[plan.last_stream], done_[plan.last_stream]) < plan.last_launch)
      violate(name(plan) + " used by two streams without order between them");
    plan.last_stream = stream.number;
    plan.last_launch = ++clock[stream.number];
  }
  /// The stream's clock now. The device keeps it, so that an event that is abandoned leaves nothing behind.
  [[nodiscard]] const StreamClock* record(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    return &recorded_.emplace_back(clocks_[stream.number]);
  }
  void wait(DeviceStream stream, const StreamClock& before) {
    const std::lock_guard lock(mutex_);
    merge(clocks_[stream.number], before);
  }
  void synchronize(const StreamClock& until) {
    const std::lock_guard lock(mutex_);
    merge(done_, until);
  }
  /// Whether the host knows that all of it is done.
  [[nodiscard]] bool done(const StreamClock& until) const {
    const std::lock_guard lock(mutex_);
    return std::all_of(until.begin(), until.end(), [this](const auto& entry) {
      const auto known = done_.find(entry.first);
      return entry.second == 0 || (known != done_.end() && known->second >= entry.second);
    });
  }
  /// Everything given to the stream so far, and what that waits for, is done.
  void finish(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    merge(done_, clocks_[stream.number]);
  }
  void begin_capture(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    capturing_[stream.number] = ++last_capture_;
  }
  void end_capture(DeviceStream stream) {
    const std::lock_guard lock(mutex_);
    capturing_.erase(stream.number);
  }
  [[nodiscard]] StreamState stream_state(DeviceStream stream) const {
    constexpr std::uint64_t first_capture = 1U << 20;
    const std::lock_guard lock(mutex_);
    const auto found = capturing_.find(stream.number);
    if (found != capturing_.end()) return {.id = first_capture + found->second, .capturing = true};
    return {.id = static_cast<std::uint64_t>(stream.number) + 1, .capturing = false};
  }

  // --- Plans ---------------------------------------------------------------------------------------------------------

  DevicePlan* create_plan(DeviceContext context, int size) {
    const std::lock_guard lock(mutex_);
    require_current(context, "create");
    DevicePlan& plan = plans_.emplace_back();
    plan.context = context;
    plan.number = plans_.size() - 1;
    plan.size = size;
    switch_device();
    return &plan;
  }
  void destroy_plan(DevicePlan& plan) {
    const std::lock_guard lock(mutex_);
    require_usable(plan, "destroy");
    if (plan.last_stream != 0 && done_[plan.last_stream] < plan.last_launch)
      violate(name(plan) + " destroyed while its work was pending");
    plan.destroyed = true;
    ++destroyed_;
    switch_device();
  }
  void touch(const DevicePlan& plan, const std::string& what) {
    const std::lock_guard lock(mutex_);
    require_usable(plan, what);
  }

  /// The library leaves another context current after create and destroy.
  void make_library_switch_to(DeviceContext context) {
    const std::lock_guard lock(mutex_);
    switch_to_ = context;
  }

  // --- What happened -------------------------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t created() const {
    const std::lock_guard lock(mutex_);
    return plans_.size();
  }
  [[nodiscard]] std::uint64_t destroyed() const {
    const std::lock_guard lock(mutex_);
    return destroyed_;
  }
  [[nodiscard]] std::vector<std::string> violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  void report(const std::string& what) {
    const std::lock_guard lock(mutex_);
    violate(what);
  }

 private:
  // All of these: with the mutex held.
  void violate(const std::string& what) { violations_.push_back(what); }
  [[nodiscard]] static std::string name(const DevicePlan& plan) {
    return "plan " + std::to_string(plan.number) + " of context " + std::to_string(plan.context.id);
  }
  [[nodiscard]] DeviceContext current_locked() {
    const auto& stack = stacks_[std::this_thread::get_id()];
    return stack.empty() ? DeviceContext{} : stack.back();
  }
  void require_current(DeviceContext context, const std::string& what) {
    if (contexts_.count(context.id) == 0)
      violate(what + " in context " + std::to_string(context.id) + " after its loss");
    if (!(current_locked() == context)) {
      violate(what + " for context " + std::to_string(context.id) + " with context " +
              std::to_string(current_locked().id) + " current");
    }
  }
  void require_usable(const DevicePlan& plan, const std::string& what) {
    require_current(plan.context, what + " of " + name(plan));
    if (plan.destroyed) violate(what + " of " + name(plan) + " after its destroy");
  }
  static void merge(StreamClock& into, const StreamClock& from) {
    for (const auto& [stream, launches] : from) into[stream] = std::max(into[stream], launches);
  }
  void switch_device() {
    if (switch_to_.id == 0) return;
    auto& stack = stacks_[std::this_thread::get_id()];
    if (!stack.empty()) stack.back() = switch_to_;
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::size_t> contexts_;  // alive: id to address
  std::uint64_t last_context_ = 0;
  std::map<std::thread::id, std::vector<DeviceContext>> stacks_;
  int last_stream_ = 0;
  std::map<int, StreamClock> clocks_;
  std::deque<StreamClock> recorded_;  // of each stream: what its next launch comes after
  StreamClock done_;                  // known to the host to be done
  std::map<int, std::uint64_t> capturing_;
  std::uint64_t last_capture_ = 0;
  std::deque<DevicePlan> plans_;
  std::uint64_t destroyed_ = 0;
  DeviceContext switch_to_;
  std::vector<std::string> violations_;
};

/// Makes a context current for a scope and restores what this thread had current before, whatever happened in between.
class CurrentContext {
 public:
  CurrentContext(FakeDevice& device, DeviceContext context) : device_(&device), before_(device.stack()) {
    device.push(context);
  }
  CurrentContext(CurrentContext&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), before_(std::move(other.before_)) {}
  CurrentContext& operator=(CurrentContext&&) = delete;
  ~CurrentContext() {
    if (device_ != nullptr) device_->set_stack(std::move(before_));
  }

 private:
  FakeDevice* device_;
  std::vector<DeviceContext> before_;
};

/// An event: created in the context of its first record, to be destroyed with that context current.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  ~DeviceEvent() {
    if (device_ == nullptr) return;
    if (!device_->alive(context_)) device_->report("event destroyed after the loss of its context");
    if (!(device_->current() == context_)) device_->report("event destroyed outside its context");
  }
  void record(FakeDevice& device, DeviceStream stream) {
    if (device_ != nullptr && !(context_ == device.current())) device.report("event recorded outside its context");
    device_ = &device;
    context_ = device.current();
    clock_ = device.record(stream);
  }
  [[nodiscard]] const StreamClock& clock() const noexcept { return *clock_; }
  [[nodiscard]] DeviceContext context() const noexcept { return context_; }

 private:
  FakeDevice* device_ = nullptr;
  DeviceContext context_;
  const StreamClock* clock_ = nullptr;
};

struct DevicePlanKey {
  DeviceContext context;
  int size = 0;
  friend bool operator==(const DevicePlanKey&, const DevicePlanKey&) = default;
};

/// What a test may make fail; called with the name of the factory member before it does anything. May throw.
using DeviceHook = std::function<void(const std::string& member)>;

/// Plans of the simulated device, whose handles belong to a context and are used without a stream.
class ContextPlans {
 public:
  using Key = DevicePlanKey;
  using Handle = DevicePlan*;
  using Context = DeviceContext;

  explicit ContextPlans(FakeDevice& device, std::shared_ptr<DeviceHook> hook = std::make_shared<DeviceHook>())
      : device_(&device), hook_(std::move(hook)) {}

  Handle create(const Key& key) {
    call("create");
    return device_->create_plan(key.context, key.size);
  }
  void destroy(const Key&, Handle handle) {
    device_->destroy_plan(*handle);
    call("destroy");
  }
  void reset(const Key&, Handle& handle) {
    device_->touch(*handle, "reset");
    call("reset");
  }
  [[nodiscard]] std::size_t bytes(const Key&, const Handle& handle) const {
    device_->touch(*handle, "bytes");
    call("bytes");
    return static_cast<std::size_t>(handle->size);
  }
  void prepare(const Key&, Handle& handle) {
    device_->touch(*handle, "prepare");
    call("prepare");
  }
  [[nodiscard]] std::string describe(const Key& key) const {
    return "size " + std::to_string(key.size) + " in context " + std::to_string(key.context.id);
  }
  [[nodiscard]] bool alive(const Key& key) const noexcept { return device_->alive(key.context); }
  [[nodiscard]] Context context(const Key& key) const { return key.context; }
  [[nodiscard]] CurrentContext enter(const Key& key) const {
    call("enter");
    return {*device_, key.context};
  }

 protected:
  void call(const std::string& member) const {
    if (*hook_) (*hook_)(member);
  }
  [[nodiscard]] FakeDevice& device() const noexcept { return *device_; }

 private:
  FakeDevice* device_;
  std::shared_ptr<DeviceHook> hook_;
};

/// As ContextPlans, but the handles' work runs on streams and outlives the lease.
class StreamPlans : public ContextPlans {
 public:
  using Stream = DeviceStream;
  using Event = DeviceEvent;
  using ContextPlans::ContextPlans;

  [[nodiscard]] StreamState stream_state(const Key&, Stream stream) const { return device().stream_state(stream); }
  void prepare(const Key& key, Handle& handle, Stream stream, StreamState) {
    const CurrentContext inside = enter(key);
    device().touch(*handle, "prepare");
    call("prepare");
    handle->prepared_for = stream;
  }
  void reset(const Key& key, Handle& handle) {
    const CurrentContext inside = enter(key);
    ContextPlans::reset(key, handle);
  }
  void record(const Key& key, Event& event, Stream stream) {
    const CurrentContext inside = enter(key);
    call("record");
    event.record(device(), stream);
  }
  void wait(const Key& key, Stream stream, const Event& event) {
    const CurrentContext inside = enter(key);
    call("wait");
    require_own(key, event, "wait");
    device().wait(stream, event.clock());
  }
  [[nodiscard]] bool done(const Key&, const Event& event) const {
    call("done");
    return device().done(event.clock());
  }
  void synchronize(const Key& key, const Event& event) {
    const CurrentContext inside = enter(key);
    call("synchronize");
    require_own(key, event, "synchronize");
    device().synchronize(event.clock());
  }

 private:
  void require_own(const Key& key, const Event& event, const std::string& what) const {
    if (!(event.context() == key.context)) device().report(what + " with an event of another context");
    if (!(device().current() == key.context)) device().report(what + " outside the key's context");
  }
};

}  // namespace larder::doubles

template <>
struct std::hash<larder::doubles::DevicePlanKey> {
  std::size_t operator()(const larder::doubles::DevicePlanKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.context.id) * 1000003U + static_cast<std::size_t>(key.size);
  }
};
