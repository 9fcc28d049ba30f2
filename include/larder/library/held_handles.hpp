// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HeldHandles: a thread's handles of one library, leased once per context and kept until the thread ends.
//
// Per context one entry {lease, stream}, and the same for work that is captured:
//
//   none -> held on S            the first request, for stream S
//   held on S -> held on S       a request for the same stream: no cache call
//   held on S -> held on T       a request for another stream: returned and leased again, so that the cache orders the work
//                                or finds a handle that T used last
//   held -> none                 the context is gone (noticed when another one comes), the thread ends, or forks: in the
//                                child
//
// A capture has a handle of its own on each of its streams, since its graph may run whenever the thread uses the other one;
// they cannot be built then, so they must be there: HandleCache::prewarm.
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
    OnStream& wanted = state.capturing ? held.captured : held.ordinary;
    if (!wanted.lease || wanted.stream_id != state.id) {
      wanted.lease.release();
      wanted.lease = cache_->acquire(held.key, stream);
      wanted.stream_id = state.id;
    }
    return *wanted.lease;
  }

  [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }

 private:
  struct OnStream {
    std::uint64_t stream_id = 0;
    Lease<Factory> lease = {};
  };
  struct Held {
    HandleKey key;
    OnStream ordinary = {};
    OnStream captured = {};
  };

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
