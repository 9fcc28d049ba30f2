// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RemoteFactory: a factory under remote control. All copies of one factory share a RemoteControl, through which a test
// scripts what the simulated library does and learns what was asked of it.
//
// The control keeps every handle it ever made, so a use after destroy, a second destroy and two users at once are
// noticed without undefined behaviour; they are listed in violations(). Library calls are counted also when they throw.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <larder/error.hpp>
#include <larder/factory.hpp>

#include "doubles/fake_clock.hpp"
#include "doubles/gate.hpp"

namespace larder::doubles {

enum class Call : std::uint8_t { create, destroy, prepare, reset, bytes };
inline constexpr std::size_t call_kinds = 5;

/// What a scripted failure throws unless told otherwise.
class RemoteFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An out-of-memory of the library: worth a second try once handles were given up.
[[nodiscard]] inline BuildFailed out_of_memory() {
  return BuildFailed("remote", 2, "REMOTE_ALLOC_FAILED", "a key", Retry::after_reclaim);
}

/// What a handle points to.
struct RemoteObject {
  RemoteObject(int key_number, std::uint64_t number_of_object) : key(key_number), number(number_of_object) {}
  const int key;
  const std::uint64_t number;  // 0 for the first object made
  std::atomic<int> destroys{0};
  std::atomic<int> users{0};
  std::atomic<std::size_t> extra_bytes{0};  // grown since creation
  long scratch = 0;                         // written by users without a lock: an exclusive handle's users never race
};

using RemoteHandle = RemoteObject*;

class RemoteControl {
 public:
  explicit RemoteControl(FakeClock* clock = nullptr) : clock_(clock) {}

  // --- Script --------------------------------------------------------------------------------------------------------

  /// The n-th call of that kind from now on (1 is the next) throws.
  template <class Exception = RemoteFailure>
  void throw_at(Call call, std::uint64_t nth, Exception exception = Exception("scripted failure")) {
    const std::lock_guard lock(mutex_);
    failures_[index(call)][calls_[index(call)] + nth] = std::make_exception_ptr(std::move(exception));
  }
  void throw_always(Call call, bool on = true) {
    const std::lock_guard lock(mutex_);
    always_[index(call)] = on ? std::make_exception_ptr(RemoteFailure("scripted failure")) : nullptr;
  }
  void forget_failures() {
    const std::lock_guard lock(mutex_);
    for (auto& of_kind : failures_) of_kind.clear();
  }
  /// Runs inside each call of that kind, before it fails or succeeds; it may call the cache.
  void on(Call call, std::function<void(int key)> hook) {
    const std::lock_guard lock(mutex_);
    hooks_[index(call)] = std::move(hook);
  }
  /// Closed, it holds up every call of that kind.
  [[nodiscard]] Gate& gate(Call call) noexcept { return gates_[index(call)]; }

  void set_bytes(int key, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_[key] = bytes;
  }
  void set_bytes_of_all(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    bytes_of_others_ = bytes;
  }
  /// How far a create of that key moves the fake clock.
  void set_build_cost(int key, std::chrono::nanoseconds cost) {
    const std::lock_guard lock(mutex_);
    costs_[key] = cost;
  }
  /// False: the library has gone, and no call may reach it any more.
  void set_alive(bool alive) noexcept { alive_.store(alive); }
  [[nodiscard]] bool alive() const noexcept { return alive_.load(); }

  // --- What happened -------------------------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t calls(Call call) const {
    const std::lock_guard lock(mutex_);
    return calls_[index(call)];
  }
  /// Handles made.
  [[nodiscard]] std::uint64_t created() const {
    const std::lock_guard lock(mutex_);
    return objects_.size();
  }
  /// Handles given to destroy, also when that threw.
  [[nodiscard]] std::uint64_t destroyed() const noexcept { return destroyed_.load(); }
  [[nodiscard]] std::uint64_t live() const { return created() - destroyed(); }
  [[nodiscard]] std::uint64_t created(int key) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    for (const RemoteObject& object : objects_) count += object.key == key ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool is_destroyed(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return objects_.at(number).destroys.load() > 0;
  }
  /// Numbers of the handles not destroyed, oldest first.
  [[nodiscard]] std::vector<std::uint64_t> survivors() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> numbers;
    for (const RemoteObject& object : objects_) {
      if (object.destroys.load() == 0) numbers.push_back(object.number);
    }
    return numbers;
  }
  [[nodiscard]] std::vector<std::string> violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
  }

  // --- Use of a leased handle ----------------------------------------------------------------------------------------

  void begin_use(RemoteHandle handle, bool exclusive) {
    if (handle->destroys.load() > 0) violate(*handle, "used after its destroy");
    if (handle->users.fetch_add(1) > 0 && exclusive) violate(*handle, "used by two leases at once");
  }
  void end_use(RemoteHandle handle) {
    handle->users.fetch_sub(1);
    if (handle->destroys.load() > 0) violate(*handle, "destroyed while in use");
  }

  // --- The library's side, called by the factory ---------------------------------------------------------------------

  RemoteHandle create(int key) {
    enter(Call::create, key, nullptr);
    const std::lock_guard lock(mutex_);
    if (const auto cost = costs_.find(key); cost != costs_.end() && clock_ != nullptr) clock_->advance(cost->second);
    objects_.emplace_back(key, objects_.size());
    return &objects_.back();
  }
  void destroy(RemoteHandle handle) {
    if (handle->destroys.fetch_add(1) > 0) {
      violate(*handle, "destroyed twice");
    } else {
      destroyed_.fetch_add(1);
    }
    if (handle->users.load() > 0) violate(*handle, "destroyed while in use");
    enter(Call::destroy, handle->key, nullptr);
  }
  void prepare(RemoteHandle handle) { enter(Call::prepare, handle->key, handle); }
  void reset(RemoteHandle handle) { enter(Call::reset, handle->key, handle); }
  [[nodiscard]] std::size_t bytes(RemoteHandle handle) {
    enter(Call::bytes, handle->key, handle);
    const std::lock_guard lock(mutex_);
    const auto found = bytes_.find(handle->key);
    return (found != bytes_.end() ? found->second : bytes_of_others_) + handle->extra_bytes.load();
  }

  void violate(const RemoteObject& object, const std::string& what) {
    const std::lock_guard lock(mutex_);
    violations_.push_back("handle " + std::to_string(object.number) + " of key " + std::to_string(object.key) + " " +
                          what);
  }

 private:
  [[nodiscard]] static std::size_t index(Call call) noexcept { return static_cast<std::size_t>(call); }

  void enter(Call call, int key, RemoteHandle handle) {
    static constexpr std::array names{"create", "destroy", "prepare", "reset", "bytes"};
    const std::size_t kind = index(call);
    if (handle != nullptr && handle->destroys.load() > 0)
      violate(*handle, std::string(names[kind]) + " after its destroy");
    std::function<void(int)> hook;
    std::exception_ptr failure;
    {
      const std::lock_guard lock(mutex_);
      const std::uint64_t nth = ++calls_[kind];
      if (!alive()) violations_.push_back(std::string(names[kind]) + " called in a library that has gone");
      hook = hooks_[kind];
      failure = always_[kind];
      if (const auto scripted = failures_[kind].find(nth); scripted != failures_[kind].end())
        failure = scripted->second;
    }
    if (hook) hook(key);
    gates_[kind].pass();
    if (failure) std::rethrow_exception(failure);
  }

  FakeClock* const clock_;
  std::atomic<bool> alive_{true};
  std::atomic<std::uint64_t> destroyed_{0};
  std::array<Gate, call_kinds> gates_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<RemoteObject> objects_;
  std::array<std::uint64_t, call_kinds> calls_{};
  std::array<std::map<std::uint64_t, std::exception_ptr>, call_kinds> failures_;
  std::array<std::exception_ptr, call_kinds> always_{};
  std::array<std::function<void(int)>, call_kinds> hooks_;
  std::map<int, std::size_t> bytes_;
  std::size_t bytes_of_others_ = 0;
  std::map<int, std::chrono::nanoseconds> costs_;
  std::vector<std::string> violations_;
};

/// The number by which scripts know a key; found by argument-dependent lookup for other key types.
[[nodiscard]] constexpr int key_number(int key) noexcept { return key; }

/// @tparam mode     whether leases share a handle; shared handles have no reset
/// @tparam KeyType  an int, or a type for which key_number() is found
template <Sharing mode, class KeyType = int>
class RemoteFactory {
 public:
  using Key = KeyType;
  using Handle = RemoteHandle;
  static constexpr Sharing sharing = mode;

  explicit RemoteFactory(std::shared_ptr<RemoteControl> control) : control_(std::move(control)) {}

  Handle create(const Key& key) { return control_->create(key_number(key)); }
  void destroy(const Key&, Handle handle) { control_->destroy(handle); }
  void prepare(const Key&, Handle& handle) { control_->prepare(handle); }
  void reset(const Key&, Handle& handle) requires(mode == Sharing::exclusive) { control_->reset(handle); }
  [[nodiscard]] std::size_t bytes(const Key&, const Handle& handle) const { return control_->bytes(handle); }
  [[nodiscard]] std::string describe(const Key& key) const { return "key " + std::to_string(key_number(key)); }
  [[nodiscard]] bool alive(const Key&) const noexcept { return control_->alive(); }

  [[nodiscard]] RemoteControl& control() const noexcept { return *control_; }

 private:
  std::shared_ptr<RemoteControl> control_;
};

using ExclusiveFactory = RemoteFactory<Sharing::exclusive>;
using SharedFactory = RemoteFactory<Sharing::shared>;

/// As Base, but all creates and destroys of the factories that name the same domain exclude each other.
template <class Base>
class InDomain : public Base {
 public:
  InDomain(std::shared_ptr<RemoteControl> control, BuildDomain& domain) : Base(std::move(control)), domain_(&domain) {}
  [[nodiscard]] BuildDomain& domain() const noexcept { return *domain_; }

 private:
  BuildDomain* domain_;
};

/// Uses a leased handle for a scope, as its only user unless the handle is shared.
class Use {
 public:
  Use(RemoteControl& control, RemoteHandle handle, Sharing sharing = Sharing::exclusive)
      : control_(control), handle_(handle) {
    control_.begin_use(handle_, sharing == Sharing::exclusive);
    if (sharing == Sharing::exclusive) ++handle_->scratch;
  }
  ~Use() { control_.end_use(handle_); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  RemoteControl& control_;
  RemoteHandle handle_;
};

}  // namespace larder::doubles
