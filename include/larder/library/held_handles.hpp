// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HeldHandles: a thread's handles of one library, leased once per context and kept until the thread ends.
//
// Per context one entry {lease, stream}, and one for each stream of a capture:
//
//   none -> held on S            the first request, for stream S
//   held on S -> held on S       a request for the same stream: no cache call
//   held on S -> held on T       a request for another stream: returned and leased again, so that the cache orders the work
//                                or finds a handle that T used last
//   held -> none                 the context is gone (noticed when another one comes), the thread ends, or forks: in the
//                                child
//
// A capture has handles of its own, since its graph may run whenever the thread uses the other one; they cannot be built
// then, so they must be there: HandleCache::prewarm. Streams of one capture are branches of a graph that may run side by
// side, so each has its own, kept until the thread asks for one in another capture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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

  /// Both must outlive this object.
  HeldHandles(HandleCache<Factory>& cache, gpu::Driver& driver) noexcept : cache_(&cache), driver_(&driver) {}

  /// The thread's handle in its current context, set to that stream.
  ///
  /// @throws Error when no context is current; as HandleCache::acquire: WouldBuild for a capture without a prewarmed handle
  const Handle& on(gpu::Stream stream) {
    if (forks() != forks_) [[unlikely]] {
      held_.clear();
      forks_ = forks();
    }
    Held& held = in_current_context();
    const StreamState state = driver_->stream_state(stream);
    if (state.capturing) [[unlikely]]
      return captured(held, stream, state.id);
    if (!held.ordinary || held.stream_id != state.id) {
      held.ordinary.release();
      held.ordinary = cache_->acquire(held.key, stream);
      held.stream_id = state.id;
    }
    return *held.ordinary;
  }

  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

 private:
  struct Captured {
    std::uint64_t capture;
    gpu::Stream stream;
    Lease<Factory> lease;
  };
  struct Held {
    HandleKey key;
    std::uint64_t stream_id = 0;  // of the ordinary one
    Lease<Factory> ordinary = {};
    std::vector<Captured> captured = {};
  };

  [[nodiscard]] const Handle& captured(Held& held, gpu::Stream stream, std::uint64_t capture) {
    const auto found = std::find_if(held.captured.begin(), held.captured.end(), [&](const Captured& other) {
      return other.capture == capture && other.stream == stream;
    });
    if (found != held.captured.end()) return *found->lease;
    std::erase_if(held.captured, [&](const Captured& other) { return other.capture != capture; });
    held.captured.push_back({capture, stream, cache_->acquire(held.key, stream)});
    return *held.captured.back().lease;
  }

  [[nodiscard]] Held& in_current_context() {
    // A thread mostly stays in one context.
    if (latest_ < held_.size() && driver_->is_current(held_[latest_].key.context())) return held_[latest_];
    const HandleKey key = key_of_current_context(*driver_);
    auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.key == key; });
    if (found == held_.end()) {
      forget_lost_contexts();
      found = held_.insert(held_.end(), Held{.key = key});
    }
    latest_ = static_cast<std::size_t>(found - held_.begin());
    return *found;
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
