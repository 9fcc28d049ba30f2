// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HeldHandles: a thread's handles of one library, leased once per context and stream and kept until the thread ends.
//
// An entry is {context, stream, lease}; a stream is known by its id, so that it is not mistaken for a later one.
//
//   none -> held    the first request for the stream in that context
//   held -> held    a later one: no cache call
//   held -> none    the thread asks on more streams than most_streams, or it ends: after a wait for the device, since the
//                   streams may have been destroyed, so that the end of their work cannot be asked for; the context is
//                   gone (noticed when another one comes), or the thread forked, in the child: without a call
//
// A capture has handles of its own, one on each of its streams, since its graph may run whenever the thread uses the other
// ones; they cannot be built then, so they must be there: HandleCache::prewarm. They go when the next capture asks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <larder/gpu/current_context.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

namespace larder::library {

/// How many forks lead from the first call of this function to this process.
[[nodiscard]] std::uint64_t forks() noexcept;

/// Handles held by one thread; for that thread alone. Gives them back when destroyed.
template <class Factory>
class HeldHandles {
 public:
  using Handle = typename Factory::Handle;

  /// How many streams of one context a thread may use in turn without a wait.
  static constexpr std::size_t most_streams = 4;

  /// Both must outlive this object.
  HeldHandles(HandleCache<Factory>& cache, gpu::Driver& driver) noexcept : cache_(&cache), driver_(&driver) {}
  HeldHandles(const HeldHandles&) = delete;
  HeldHandles& operator=(const HeldHandles&) = delete;
  ~HeldHandles() {
    if (forks() != forks_) return;
    while (!held_.empty()) give_back(held_.back().key);
  }

  /// The thread's handle in its current context on that stream.
  ///
  /// @throws Error when no context is current; as HandleCache::acquire: WouldBuild for a capture without a prewarmed handle
  const Handle& on(gpu::Stream stream) {
    if (forks() != forks_) [[unlikely]] {
      held_.clear();
      forks_ = forks();
    }
    const StreamState state = driver_->stream_state(stream);
    // A thread mostly stays on one stream.
    if (latest_ < held_.size() && held_[latest_].is_for(state) && driver_->is_current(held_[latest_].key.context())) {
      return *held_[latest_].lease;
    }
    const HandleKey key = key_of_current_context(*driver_);
    auto found = std::find_if(held_.begin(), held_.end(),
                              [&](const Held& held) { return held.key == key && held.is_for(state); });
    if (found == held_.end()) {
      forget_lost_contexts();
      make_room(key, state);
      held_.push_back({key, state, cache_->acquire(key, stream)});
      found = held_.end() - 1;
    }
    latest_ = static_cast<std::size_t>(found - held_.begin());
    return *found->lease;
  }

  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

 private:
  struct Held {
    HandleKey key;
    StreamState stream;
    Lease<Factory> lease;
    [[nodiscard]] bool is_for(const StreamState& state) const noexcept { return stream.id == state.id; }
  };

  void make_room(const HandleKey& key, const StreamState& state) {
    const auto is_like = [&](const Held& held) { return held.key == key && held.stream.capturing == state.capturing; };
    const auto like = static_cast<std::size_t>(std::count_if(held_.begin(), held_.end(), is_like));
    if (like < most_streams) return;
    if (state.capturing) {
      std::erase_if(held_, is_like);  // they are the graphs'
    } else {
      give_back(key);
    }
  }

  /// Gives back what is held in that context, whose streams may have gone.
  void give_back(const HandleKey& key) noexcept {
    const gpu::Context context = key.context();
    bool idle = !driver_->alive(context);  // then nothing runs any more
    try {
      if (!idle) {
        const gpu::CurrentContext inside(*driver_, context);
        driver_->wait_until_idle();
        idle = true;
      }
    } catch (...) {
      idle = !driver_->alive(context);
    }
    std::erase_if(held_, [&](Held& held) {
      if (!(held.key == key)) return false;
      if (idle) {
        held.lease.release_done();
      } else {
        held.lease.abandon();
      }
      return true;
    });
  }

  void forget_lost_contexts() {
    std::erase_if(held_, [this](const Held& held) {
      const gpu::Context context = held.key.context();
      if (driver_->alive(context)) return false;
      cache_->invalidate(context);
      return true;
    });
  }

  HandleCache<Factory>* cache_;
  gpu::Driver* driver_;
  std::uint64_t forks_ = forks();
  std::vector<Held> held_;
  std::size_t latest_ = 0;
};

}  // namespace larder::library
