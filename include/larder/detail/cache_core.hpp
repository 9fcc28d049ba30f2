// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CacheCore: everything of a cache that does not depend on the types of key and handle.
//
// The unlocked hit path is in FactoryCore and Slot; this is the path with the mutex: index from key to slots, budget
// ledger, eviction, builds. No factory member and no listener runs with the mutex held: a call collects what leaves the
// cache in a Retired list and settles it after unlocking. The list links slots themselves, so returning a lease never
// allocates.
//
// Lock order: build domains, then the registry of caches, then a cache's mutex (never two of them).
// Life: a core outlives its HandleCache while leases are out. Whoever settles the last live handle of a closed core
// deletes it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <larder/budget.hpp>
#include <larder/detail/key_record.hpp>
#include <larder/detail/mutex.hpp>
#include <larder/detail/remembered.hpp>
#include <larder/detail/slot.hpp>
#include <larder/options.hpp>
#include <larder/stats.hpp>
#include <larder/stream_state.hpp>

namespace larder::detail {

class Guard;
class KeyHistory;
class ReturnModel;

/// A budget with every field decided.
struct Limits {
  std::size_t idle = Budget::unlimited;
  std::size_t idle_per_key = Budget::unlimited;
  std::size_t idle_bytes = Budget::unlimited;
  std::chrono::nanoseconds idle_age = Budget::unlimited_age;
};

/// Fields set in code, else from the environment, else from the factory's default, else unlimited.
[[nodiscard]] Limits resolve(const Budget& in_code, const Budget& factory_default);

/// Slots taken out of the cache by one call and owned by it, to be settled once the mutex is released.
class Retired {
 public:
  void push(Slot& slot) noexcept {
    slot.next = first_;
    first_ = &slot;
  }
  [[nodiscard]] Slot* pop() noexcept {
    Slot* const slot = first_;
    if (slot != nullptr) first_ = slot->next;
    return slot;
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

 private:
  Slot* first_ = nullptr;
};

/// A request as the untyped core sees it.
struct Request {
  const void* key;
  std::uint64_t hash;
  StreamState stream = {};  // its id is 0 for handles whose work is done when the lease ends
};

enum class OnMiss : std::uint8_t { build, give_up };
enum class Return : std::uint8_t { keep, discard, forget };

class CacheCore {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  CacheCore(const CacheCore&) = delete;
  CacheCore& operator=(const CacheCore&) = delete;

  void set_budget(const Budget& budget) LARDER_EXCLUDES(mutex_);
  void clear() noexcept LARDER_EXCLUDES(mutex_);
  std::size_t trim(std::size_t bytes) noexcept LARDER_EXCLUDES(mutex_);
  [[nodiscard]] Stats stats() LARDER_EXCLUDES(mutex_);

  /// The HandleCache is gone: no more requests; idle handles are destroyed now, leased ones as they come back.
  void close() noexcept LARDER_EXCLUDES(mutex_);

  /// Keeps the core alive while reclaim() works on it; false when it is being deleted.
  [[nodiscard]] bool pin() noexcept LARDER_EXCLUDES(mutex_);
  void unpin() noexcept LARDER_EXCLUDES(mutex_);

  // Around fork(), called by the registry: the mutex is held from before_fork to after_fork_*.
  void before_fork() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork_in_parent() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork_in_child() noexcept LARDER_NO_THREAD_SAFETY_ANALYSIS;

 protected:
  CacheCore(const Budget& budget, const Options& options, const Budget& factory_default, bool shared,
            bool survives_fork);
  virtual ~CacheCore();

  /// Makes a fully constructed core known to fork handling and reclaim().
  void enroll();

  // The path with the mutex. acquire_slow returns nullptr for OnMiss::give_up when there is no handle.
  Slot* acquire_slow(Request request, OnMiss on_miss, Deadline deadline) LARDER_EXCLUDES(mutex_);
  /// An idle handle that nothing is said about yet: no hit or miss is reported.
  [[nodiscard]] Slot* claim_idle(Request request) LARDER_EXCLUDES(mutex_);
  /// Whether building one more handle of this one's key beats waiting for this one, whose work has gone on that long:
  /// as long as a build takes, so that at least as much is to be expected again; and whether the budget would keep it.
  [[nodiscard]] bool worth_another(const Slot& slot, std::chrono::nanoseconds pending) noexcept LARDER_EXCLUDES(mutex_);
  void prewarm_slow(Request request, std::size_t count) LARDER_EXCLUDES(mutex_);
  void return_slow(Slot& slot, std::size_t bytes, Return how) noexcept LARDER_EXCLUDES(mutex_);
  void invalidate_if(bool (*gone)(const KeyRecord&, const void* context), const void* context) noexcept
      LARDER_EXCLUDES(mutex_);

  // The list of deferred returns: pushed to without a lock, taken whole.
  void push_deferred(Slot& slot) noexcept;
  [[nodiscard]] Slot* take_deferred() noexcept { return deferred_.exchange(nullptr, std::memory_order_acquire); }
  [[nodiscard]] bool has_deferred() const noexcept { return deferred_.load(std::memory_order_relaxed) != nullptr; }

  /// Orders a return after every return before it: by epoch, which the mutex advances, then by this thread's tick.
  void stamp(Slot& slot) const noexcept {
    slot.epoch.store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    slot.tick.store(++thread_memory.tick_of(id_), std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return clock_.now(); }
  [[nodiscard]] Listener* listener() const noexcept { return listener_; }
  void notify_hit(const Slot& slot) noexcept;

  // What depends on the types. These run with the mutex held and do not reach the library:
  [[nodiscard]] virtual bool has_key(const KeyRecord& record, const void* key) const = 0;
  [[nodiscard]] virtual std::unique_ptr<KeyRecord> make_record(Request request) const = 0;
  [[nodiscard]] virtual bool same_context(const KeyRecord& a, const KeyRecord& b) const = 0;
  virtual Slot& add_slot() = 0;
  virtual void abandon(Slot& slot) noexcept = 0;  // forgets the handle without running its destructor
  // These run with no lock held:
  virtual void create(Slot& slot) = 0;
  [[nodiscard]] virtual std::size_t measure(const Slot& slot) const = 0;
  [[nodiscard]] virtual bool alive(const Slot& slot) const noexcept = 0;
  virtual void destroy(Slot& slot) = 0;  // when it throws and the slot still holds a handle, destroy was not reached
  [[nodiscard]] virtual bool holds_handle(const Slot& slot) const noexcept = 0;
  virtual void drain_deferred() noexcept = 0;
  [[nodiscard]] virtual std::string describe(const void* key) const = 0;  // or with the mutex, for an error's message
  [[nodiscard]] virtual const void* key_of(const KeyRecord& record) const noexcept = 0;

  Mutex checked_out_mutex_;  // guards FactoryCore's table; here so that fork() finds it. Never held with another lock.

 private:
  class EventKey;

  // Requests
  [[nodiscard]] KeyRecord* find(Request request) const LARDER_REQUIRES(mutex_);
  [[nodiscard]] Slot* claim_best(KeyRecord& record, const Request& request) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] Slot* join_flight(KeyRecord& record, MutexLock& lock, Request request, Deadline deadline)
      LARDER_REQUIRES(mutex_);
  void wait_for_return(MutexLock& lock, Request request, Deadline deadline) LARDER_REQUIRES(mutex_);
  [[nodiscard]] Slot& start_build(Request request) LARDER_REQUIRES(mutex_);
  void build(Slot& slot) LARDER_EXCLUDES(mutex_);
  [[nodiscard]] std::chrono::nanoseconds create_with_retry(Slot& slot) LARDER_EXCLUDES(mutex_);
  void count_build_failure(const Slot& slot, const char* what) noexcept LARDER_EXCLUDES(mutex_);
  void publish(Slot& slot, std::chrono::nanoseconds cost, std::size_t bytes) noexcept LARDER_REQUIRES(mutex_);
  void abort_build(Slot& slot, const std::exception_ptr& error) noexcept LARDER_REQUIRES(mutex_);

  /// What the choice of a victim needs of a slot besides its first cache line; packed, because it reads all of them.
  struct Standing {
    std::uint64_t seen_hits = 0;    // hits already in the key's history
    double score = 0;               // of a slot that is alone and in the budget; not of others
    std::uint64_t score_until = 0;  // logical time up to which it holds; 0 when something it depends on has changed
  };

  // Logical time and use
  [[nodiscard]] const Policy& policy() const noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] double size_of(const Slot& slot) const noexcept LARDER_REQUIRES(mutex_);
  void show_to_guard(const Slot& slot, bool built) noexcept LARDER_REQUIRES(mutex_);
  void advance_epoch() noexcept LARDER_REQUIRES(mutex_);
  void note_uses(KeyUse& use, std::uint64_t count, std::uint64_t time) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t last_returned(const Slot& slot) const noexcept LARDER_REQUIRES(mutex_);
  void harvest(Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  void note_hits(Slot& slot, std::uint64_t hits) noexcept LARDER_REQUIRES(mutex_);

  // Budget
  [[nodiscard]] bool may_unlock() const noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] Word bits_when_free() noexcept LARDER_REQUIRES(mutex_);
  void note_change_of_leased(const Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  void enter_budget(Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  void leave_budget(Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] bool fits_in_budget(const Slot& slot) const noexcept LARDER_REQUIRES(mutex_);
  void set_bytes(Slot& slot, std::size_t bytes) noexcept LARDER_REQUIRES(mutex_);
  void lock_every_return() noexcept LARDER_REQUIRES(mutex_);
  void lock_returns_without(Word bits) noexcept LARDER_REQUIRES(mutex_);  // of slots that have none of these bits
  Word keep(Slot& slot, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void enforce_per_key(KeyRecord& record, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void enforce_totals(Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void shed(EvictionCause cause, KeyRecord* only, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  template <class StopAtLeased>
  [[nodiscard]] Slot* cheapest_idle(KeyRecord* only, StopAtLeased&& stop_at_leased) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] Slot* cheapest_idle() noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] double score(KeyRecord& record, const Slot& slot, std::size_t spare) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] double score_alone(Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  void forget_scores(const KeyRecord& record) noexcept LARDER_REQUIRES(mutex_);
  void forget_scores() noexcept LARDER_REQUIRES(mutex_);
  bool evict(Slot& slot, EvictionCause cause, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void condemn(Slot& slot, EvictionCause cause, bool forget, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void take_out(Slot& slot, Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void expire(Retired& retired) noexcept LARDER_REQUIRES(mutex_);
  void give_up_idle(const KeyRecord& context_of) noexcept LARDER_EXCLUDES(mutex_);

  // End of a handle, a record and the core
  void settle(Retired& retired) noexcept LARDER_EXCLUDES(mutex_);
  void vacate(Slot& slot) noexcept LARDER_REQUIRES(mutex_);
  void erase_if_unused(KeyRecord& record) noexcept LARDER_REQUIRES(mutex_);
  [[nodiscard]] bool doom_if_finished() noexcept LARDER_REQUIRES(mutex_);
  void delete_doomed() noexcept LARDER_EXCLUDES(mutex_);

  template <class Notify>
  void notify(const void* key, std::uint64_t hash, Notify&& event) noexcept LARDER_EXCLUDES(mutex_);

  // Read on every hit, written rarely.
  const std::uint64_t id_;
  Listener* const listener_;
  std::atomic<std::uint64_t> epoch_{1};  // logical time in requests; advanced with the mutex held
  std::atomic<Slot*> deferred_{nullptr};

  alignas(64) Mutex mutex_;
  std::unique_ptr<std::condition_variable> changed_;  // a handle came back, a build ended, or the cache closed
  const bool shared_;
  const bool survives_fork_;
  const Policy policy_;
  const Clock& clock_;
  const Budget factory_default_;
  const std::size_t max_live_;
  const bool plain_returns_;

  Limits limits_ LARDER_GUARDED_BY(mutex_);
  std::unordered_multimap<std::uint64_t, std::unique_ptr<KeyRecord>> index_ LARDER_GUARDED_BY(mutex_);
  std::unique_ptr<ReturnModel> returns_ LARDER_GUARDED_BY(mutex_);
  std::unique_ptr<Guard> guard_ LARDER_GUARDED_BY(mutex_);  // of a guarded policy only
  std::unique_ptr<KeyHistory> history_ LARDER_GUARDED_BY(mutex_);
  std::vector<Slot*> slots_ LARDER_GUARDED_BY(mutex_);         // every slot ever made
  std::vector<Standing> standings_ LARDER_GUARDED_BY(mutex_);  // of each of them, by Slot::index
  Slot* vacant_ LARDER_GUARDED_BY(mutex_) = nullptr;
  std::size_t in_budget_ LARDER_GUARDED_BY(mutex_) = 0;
  std::size_t in_budget_bytes_ LARDER_GUARDED_BY(mutex_) = 0;
  std::size_t live_ LARDER_GUARDED_BY(mutex_) = 0;  // created, not yet destroyed or abandoned
  std::size_t live_bytes_ LARDER_GUARDED_BY(mutex_) = 0;
  std::size_t building_ LARDER_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_for_return_ LARDER_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ LARDER_GUARDED_BY(mutex_) = 0;  // for a return or for a flight
  std::size_t pins_ LARDER_GUARDED_BY(mutex_) = 0;
  std::chrono::nanoseconds oldest_idle_ LARDER_GUARDED_BY(mutex_){0};  // no handle has been idle since before this
  double inflation_ LARDER_GUARDED_BY(mutex_) = 0;
  std::uint64_t plain_from_ LARDER_GUARDED_BY(mutex_) = 0;    // epoch from which on P is given
  bool pause_had_returns_ LARDER_GUARDED_BY(mutex_) = false;  // handles were kept without P before that
  bool closed_ LARDER_GUARDED_BY(mutex_) = false;
  bool doomed_ LARDER_GUARDED_BY(mutex_) = false;  // one thread is deleting the core
  std::uint64_t last_tick_ LARDER_GUARDED_BY(mutex_) = 0;
  const void* last_thread_ LARDER_GUARDED_BY(mutex_) = nullptr;
  Stats totals_ LARDER_GUARDED_BY(mutex_);  // the counters; stats() computes the rest
};

/// Deleter of the HandleCache's pointer: the core lives on while leases are out.
struct CloseCore {
  void operator()(CacheCore* core) const noexcept { core->close(); }
};

}  // namespace larder::detail
