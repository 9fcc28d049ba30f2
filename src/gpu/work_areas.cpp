// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An area's word is {generation, given up, users}. Areas are type-stable and used again under a new generation, so what a
// handle remembers can be tried without a lock. Whoever brings an area to "given up, no users" owns it and frees it. One
// mutex guards which area is current for whom; no driver or allocator call is made with it held.
#include <larder/gpu/work_areas.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <larder/detail/mutex.hpp>
#include <larder/gpu/current_context.hpp>

namespace larder::gpu {

namespace {

using Word = std::uint64_t;

constexpr Word user_one = 1;
constexpr Word user_mask = (Word{1} << 31) - 1;
constexpr Word given_up_bit = Word{1} << 31;
constexpr unsigned generation_shift = 32;

// Streams come and go without a word to us: with more areas than this in one context, the unused ones are given up.
constexpr std::size_t most_areas = 64;
constexpr std::size_t granule = 512;  // what device memory is aligned to anyway

/// Whose area it is.
struct Owner {
  std::uint64_t context_id;
  std::uint64_t stream_id;  // or that of a capture
  friend bool operator==(const Owner&, const Owner&) = default;
};

struct HashOwner {
  std::size_t operator()(const Owner& owner) const noexcept {
    return std::hash<std::uint64_t>{}(owner.stream_id * 0x9e3779b97f4a7c15U + owner.context_id);
  }
};

/// The driver's own memory.
class DriverAllocator final : public Allocator {
 public:
  explicit DriverAllocator(Driver& driver) noexcept : driver_(driver) {}
  void* allocate(std::size_t bytes, Stream /*stream*/) override { return driver_.allocate(bytes); }
  void free(void* memory, std::size_t /*bytes*/, Stream stream) noexcept override { driver_.free(memory, stream); }
  void free_when_idle(void* memory, std::size_t /*bytes*/) noexcept override { driver_.free_when_idle(memory); }

 private:
  Driver& driver_;
};

}  // namespace

class WorkArea {
 public:
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed) >> generation_shift);
  }
  [[nodiscard]] bool enter(std::uint32_t generation) noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while (word >> generation_shift == generation && (word & given_up_bit) == 0) {
      if (word_.compare_exchange_weak(word, word + user_one, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  /// Whether the caller owns the area now.
  [[nodiscard]] bool leave() noexcept {
    const Word before = word_.fetch_sub(user_one, std::memory_order_acq_rel);
    return (before & given_up_bit) != 0 && (before & user_mask) == user_one;
  }
  /// Whether the caller owns the area now.
  [[nodiscard]] bool give_up() noexcept {
    return (word_.fetch_or(given_up_bit, std::memory_order_acq_rel) & user_mask) == 0;
  }
  [[nodiscard]] bool give_up_unused() noexcept {
    Word word = word_.load(std::memory_order_relaxed);
    while ((word & user_mask) == 0) {
      if (word_.compare_exchange_weak(word, word | given_up_bit, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    }
    return false;
  }
  /// By its owner: under a new generation, with one user.
  void start() noexcept {
    const Word next = (word_.load(std::memory_order_relaxed) >> generation_shift) + 1;
    word_.store((next << generation_shift) | user_one, std::memory_order_release);
  }

  // Fixed while it is current, or used.
  void* memory = nullptr;
  std::size_t bytes = 0;
  Context context;
  Stream stream;
  std::uint64_t stream_id = 0;
  bool captured = false;
  std::atomic<bool> lost{false};  // its memory went with its context, or was freed

 private:
  std::atomic<Word> word_{given_up_bit};
};

void* WorkAreaRef::memory() const noexcept { return area->memory; }
std::size_t WorkAreaRef::bytes() const noexcept { return area->bytes; }

class WorkAreas::State {
 public:
  State(Driver& driver, Allocator* allocator)
      : driver_(driver), own_(driver), allocator_(allocator == nullptr ? own_ : *allocator) {}

  WorkAreaRef enter(const Context& context, Stream stream, StreamState state, std::size_t bytes) {
    const Owner owner{context.id, state.id};
    std::size_t wanted = (bytes + granule - 1) / granule * granule;
    {
      const detail::MutexLock lock(mutex_);
      const auto found = current_.find(owner);
      if (found != current_.end()) {
        if (found->second->bytes >= bytes) return user_of(*found->second);
        wanted = std::max(wanted, 2 * found->second->bytes);
      }
    }
    if (!state.capturing) make_room(context, stream, state.id);
    void* const memory = allocate(wanted, stream, state.capturing);

    WorkAreaRef entered;
    WorkArea* replaced = nullptr;
    bool too_late = false;
    try {
      const detail::MutexLock lock(mutex_);
      const auto found = current_.find(owner);
      too_late = found != current_.end() && found->second->bytes >= bytes;
      if (too_late) {
        entered = user_of(*found->second);
      } else {
        outgrown_.reserve(outgrown_.size() + 1);
        WorkArea& made = vacant();
        if (found == current_.end()) {
          current_.emplace(owner, &made);
        } else {
          replaced = std::exchange(found->second, &made);
        }
        vacant_.pop_back();
        made.memory = memory;
        made.bytes = wanted;
        made.context = context;
        made.stream = stream;
        made.stream_id = state.id;
        made.captured = state.capturing;
        made.lost.store(false, std::memory_order_relaxed);
        made.start();
        held_.fetch_add(wanted, std::memory_order_relaxed);
        entered = {&made, made.generation()};
        if (replaced != nullptr && replaced->captured) {
          outgrown_.push_back(replaced);  // the graph goes on using it
          replaced = nullptr;
        } else if (replaced != nullptr && !replaced->give_up()) {
          replaced = nullptr;
        }
      }
    } catch (...) {
      allocator_.free_when_idle(memory, wanted);
      throw;
    }
    if (too_late) allocator_.free_when_idle(memory, wanted);  // another thread was quicker
    if (replaced != nullptr) free_in_order(*replaced);
    return entered;
  }

  /// By the area's owner, in the order of its stream.
  void free_in_order(WorkArea& area) noexcept {
    free_in_context(area, [this, &area] { allocator_.free(area.memory, area.bytes, area.stream); });
  }

  template <class Wanted>
  std::size_t give_up_unused(Wanted&& wanted) noexcept {
    std::vector<WorkArea*> unused;
    try {
      const detail::MutexLock lock(mutex_);
      unused.reserve(current_.size() + outgrown_.size());
      const auto take = [&](WorkArea* area) {
        if (!wanted(*area) || !area->give_up_unused()) return false;
        unused.push_back(area);
        return true;
      };
      std::erase_if(current_, [&](const auto& entry) { return take(entry.second); });
      std::erase_if(outgrown_, take);
    } catch (...) {
      return 0;  // no memory for the list: nothing was given up
    }
    std::size_t freed = 0;
    for (WorkArea* const area : unused) {
      freed += area->bytes;
      free_in_context(*area, [this, area] { allocator_.free_when_idle(area->memory, area->bytes); });
    }
    return freed;
  }

  void invalidate(const Context& context) noexcept {
    const detail::MutexLock lock(mutex_);
    const auto is_gone = [&](const WorkArea& area) { return area.context == context; };
    for (WorkArea& area : areas_) {
      // Also those that were replaced and are still in use. Vacant ones are lost already.
      if (!is_gone(area) || area.lost.exchange(true, std::memory_order_relaxed)) continue;
      held_.fetch_sub(area.bytes, std::memory_order_relaxed);
    }
    const auto forget = [&](WorkArea* area) LARDER_REQUIRES(mutex_) {
      if (!is_gone(*area)) return false;
      if (area->give_up()) vacate(*area);
      return true;
    };
    std::erase_if(current_, [&](const auto& entry) LARDER_REQUIRES(mutex_) { return forget(entry.second); });
    std::erase_if(outgrown_, forget);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return held_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] static WorkAreaRef user_of(WorkArea& area) noexcept {
    const WorkAreaRef ref{&area, area.generation()};
    (void)area.enter(ref.generation);  // what is current is not given up
    return ref;
  }

  /// The area to be used next: the last of vacant_.
  [[nodiscard]] WorkArea& vacant() LARDER_REQUIRES(mutex_) {
    if (vacant_.empty()) {
      vacant_.reserve(areas_.size() + 1);  // so that vacate() never allocates
      vacant_.push_back(&areas_.emplace_back());
    }
    return *vacant_.back();
  }
  void vacate(WorkArea& area) noexcept LARDER_REQUIRES(mutex_) {
    if (!area.lost.exchange(true, std::memory_order_relaxed)) held_.fetch_sub(area.bytes, std::memory_order_relaxed);
    vacant_.push_back(&area);
  }

  template <class Free>
  void free_in_context(WorkArea& area, Free&& free) noexcept {
    try {
      if (!area.lost.load(std::memory_order_relaxed) && driver_.alive(area.context)) {
        const CurrentContext inside(driver_, area.context);
        free();
      }
    } catch (...) {
      // The context went in this instant, and the memory with it.
    }
    const detail::MutexLock lock(mutex_);
    vacate(area);
  }

  /// Gives up areas of streams that are gone: known by another id at the same address, or presumed when there are many.
  void make_room(const Context& context, Stream stream, std::uint64_t stream_id) noexcept {
    const bool named = !driver_.is_default(stream);  // a default stream's address tells nothing
    const auto is_dead = [&](const WorkArea& area) {
      return !area.captured && area.context == context && named && area.stream == stream && area.stream_id != stream_id;
    };
    std::size_t in_context = 0;
    bool has_dead = false;
    {
      const detail::MutexLock lock(mutex_);
      for (const auto& [owner, area] : current_) {
        if (owner.context_id == context.id && !area->captured) ++in_context;
        has_dead = has_dead || is_dead(*area);
      }
    }
    if (in_context >= most_areas) {
      give_up_unused([&](const WorkArea& area) { return !area.captured && area.context == context; });
    } else if (has_dead) {
      give_up_unused(is_dead);
    }
  }

  [[nodiscard]] void* allocate(std::size_t bytes, Stream stream, bool capturing) {
    try {
      return allocator_.allocate(bytes, stream);
    } catch (const OutOfMemory&) {
      // A capture waits for nothing.
      if (capturing || give_up_unused([](const WorkArea& area) { return !area.captured; }) == 0) throw;
      return allocator_.allocate(bytes, stream);
    }
  }

  Driver& driver_;
  DriverAllocator own_;
  Allocator& allocator_;
  std::atomic<std::size_t> held_{0};
  detail::Mutex mutex_;
  std::deque<WorkArea> areas_ LARDER_GUARDED_BY(mutex_);       // every area ever made
  std::vector<WorkArea*> outgrown_ LARDER_GUARDED_BY(mutex_);  // replaced within a capture
  std::vector<WorkArea*> vacant_ LARDER_GUARDED_BY(mutex_);
  std::unordered_map<Owner, WorkArea*, HashOwner> current_ LARDER_GUARDED_BY(mutex_);
};

WorkAreas::WorkAreas(Driver& driver, Allocator* allocator) : state_(std::make_unique<State>(driver, allocator)) {}

WorkAreas::~WorkAreas() {
  state_->give_up_unused([](const WorkArea&) { return true; });
}

WorkAreaRef WorkAreas::enter(const Context& context, Stream stream, StreamState state, std::size_t bytes) {
  return state_->enter(context, stream, state, bytes);
}

bool WorkAreas::reenter(const WorkAreaRef& ref) noexcept { return ref.area->enter(ref.generation); }

void WorkAreas::leave(const WorkAreaRef& ref) noexcept {
  if (ref.area->leave()) state_->free_in_order(*ref.area);
}

std::size_t WorkAreas::trim() noexcept {
  return state_->give_up_unused([](const WorkArea& area) { return !area.captured; });
}

void WorkAreas::release_captured() noexcept {
  (void)state_->give_up_unused([](const WorkArea& area) { return area.captured; });
}

void WorkAreas::invalidate(const Context& context) noexcept { state_->invalidate(context); }

std::size_t WorkAreas::bytes() const noexcept { return state_->bytes(); }

}  // namespace larder::gpu
