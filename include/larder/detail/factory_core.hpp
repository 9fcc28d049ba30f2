// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FactoryCore: a CacheCore that knows the types of key and handle; holds the unlocked hit path.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <larder/detail/abandonable.hpp>
#include <larder/detail/cache_core.hpp>
#include <larder/detail/remembered.hpp>
#include <larder/error.hpp>
#include <larder/factory.hpp>

namespace larder {

template <HandleFactory Factory>
class Lease;

namespace detail {

template <class T>
concept Hashable = requires(const T& value) {
  { std::hash<T>{}(value) } -> std::convertible_to<std::size_t>;
};

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

template <class F, class Key = typename F::Key, class Handle = typename F::Handle>
concept HasBytes = requires(const F& factory, const Key& key, const Handle& handle) {
  factory.bytes(key, handle);
};
template <class F, class Key = typename F::Key, class Handle = typename F::Handle>
concept HasReset = requires(F& factory, const Key& key, Handle& handle) {
  factory.reset(key, handle);
};
template <class F, class Key = typename F::Key, class Handle = typename F::Handle>
concept HasPrepare = requires(F& factory, const Key& key, Handle& handle) {
  factory.prepare(key, handle);
};
template <class F, class Key = typename F::Key, class Handle = typename F::Handle>
concept HasStreamPrepare = StreamFactory<F> &&
    requires(F& factory, const Key& key, Handle& handle, typename F::Stream stream) {
  factory.prepare(key, handle, stream, StreamState{});
};
template <class F>
concept HasAlive = requires(const F& factory, const typename F::Key& key) {
  factory.alive(key);
};
template <class F>
concept HasInvalidate = ContextFactory<F> && requires(F& factory, const typename F::Context& context) {
  { factory.invalidate(context) }
  noexcept;
};
template <class F>
concept HasDomain = requires(const F& factory) {
  { factory.domain() } -> std::same_as<BuildDomain&>;
};
template <class F>
concept HasDescribe = requires(const F& factory, const typename F::Key& key) {
  { factory.describe(key) } -> std::convertible_to<std::string>;
};

template <class F>
constexpr Sharing sharing_of() {
  if constexpr (requires { F::sharing; }) return F::sharing;
  return Sharing::exclusive;
}

template <class F>
constexpr bool bytes_fixed_of() {
  if constexpr (!HasBytes<F>) return true;
  if constexpr (requires { F::bytes_fixed; }) return F::bytes_fixed;
  return false;
}

template <class F>
constexpr bool survives_fork_of() {
  if constexpr (requires { F::survives_fork; }) return F::survives_fork;
  return false;
}

template <class F>
constexpr Budget default_budget_of() {
  if constexpr (requires { F::default_budget; }) return F::default_budget;
  return {};
}

struct NoStream {};

template <class F>
struct StreamTypes {
  using Stream = NoStream;
  using Event = NoStream;
};
template <StreamFactory F>
struct StreamTypes<F> {
  using Stream = typename F::Stream;
  using Event = typename F::Event;
};
template <class F>
using StreamOf = typename StreamTypes<F>::Stream;

struct NoContext {};

template <class F>
struct ContextType {
  using Type = NoContext;
};
template <ContextFactory F>
struct ContextType<F> {
  using Type = typename F::Context;
};
template <class F>
using ContextOf = typename ContextType<F>::Type;

template <HandleFactory Factory>
class FactoryCore final : public CacheCore {
 public:
  using Key = typename Factory::Key;
  using Handle = typename Factory::Handle;
  using Stream = StreamOf<Factory>;
  static constexpr bool is_shared = sharing_of<Factory>() == Sharing::shared;
  static_assert(!(is_shared && StreamFactory<Factory>),
                "a handle that belongs to one stream at a time cannot be shared");
  static_assert(!(is_shared && HasReset<Factory>), "a shared handle has no state of its user's to reset");

  struct Record final : KeyRecord {
    Record(const Key& copied, std::uint64_t hash_of_key) : KeyRecord(hash_of_key), key(copied) {}
    const Key key;
  };

  class Slot final : public detail::Slot {
   public:
    [[nodiscard]] const Handle& handle() const noexcept { return *handle_; }
    [[nodiscard]] const Key& key() const noexcept { return static_cast<const Record*>(record)->key; }

   private:
    friend class FactoryCore;
    Abandonable<Handle> handle_;
    Abandonable<typename StreamTypes<Factory>::Event> event_;  // marks the end of the work given to stream_
    [[no_unique_address]] Stream stream_{};
    bool migrates_ = false;                    // streams have taken it over from each other
    std::chrono::nanoseconds returned_at_{0};  // when its last lease ended; only while it migrates
  };

  [[nodiscard]] static auto make(const Budget& budget, const Options& options, Factory factory) {
    std::unique_ptr<FactoryCore> core(new FactoryCore(budget, options, std::move(factory)));
    core->enroll();
    return std::unique_ptr<FactoryCore, CloseCore>(core.release());
  }

  [[nodiscard]] Factory& factory() noexcept { return factory_; }

  Lease<Factory> acquire(const Key& key, const Stream& stream, Deadline deadline) {
    return lease(key, stream, OnMiss::build, deadline);
  }
  Lease<Factory> try_acquire(const Key& key, const Stream& stream) {
    return lease(key, stream, OnMiss::give_up, Deadline::max());
  }

  void prewarm(const Key& key, std::size_t count) { prewarm_slow({&key, hash_of(key)}, count); }

  /// @param done  all its work is done, and its stream may have gone
  void release(Slot& slot, bool done = false) noexcept {
    std::size_t bytes = slot.bytes.load(std::memory_order_relaxed);
    if constexpr (calls_at_return) {
      const Return how = finish_use(slot, bytes, done);
      if (how != Return::keep) {
        return_slow(slot, bytes, how);
        return;
      }
    }
    stamp(slot);
    // Once the handle is back, the cache may be destroyed: what is needed of it afterwards is read before.
    const std::uint64_t cache = id();
    const std::uint64_t hash = remembered_hash(slot);
    Word after = 0;
    const bool same_bytes = !measures_at_return || bytes == slot.bytes.load(std::memory_order_relaxed);
    if (same_bytes && try_return(slot, after)) {
      remember({cache, hash, &slot, after});
      return;
    }
    return_slow(slot, bytes, Return::keep);
  }

  void discard(Slot& slot) noexcept {
    const std::size_t bytes = slot.bytes.load(std::memory_order_relaxed);
    return_slow(slot, bytes, !gone(slot) && mark_work(slot) ? Return::discard : Return::forget);
  }

  void abandon_leased(Slot& slot) noexcept {
    return_slow(slot, slot.bytes.load(std::memory_order_relaxed), Return::forget);
  }

  void release_deferred(Slot& slot) noexcept { push_deferred(slot); }

  void drain() noexcept { drain_deferred(); }

  void invalidate(const ContextOf<Factory>& context) noexcept {
    struct Gone {
      const Factory* factory;
      const ContextOf<Factory>* context;
    };
    const Gone argument{&factory_, &context};
    invalidate_if(
        [](const KeyRecord& record, const void* opaque) {
          const auto& what = *static_cast<const Gone*>(opaque);
          return what.factory->context(static_cast<const Record&>(record).key) == *what.context;
        },
        &argument);
    if constexpr (HasInvalidate<Factory>) factory_.invalidate(context);
  }

  Handle checkout(const Key& key) requires std::copyable<Handle> && Hashable<Handle> {
    Lease<Factory> out = acquire(key, {}, Deadline::max());
    const Handle handle = *out;
    const MutexLock lock(checked_out_mutex_);
    checked_out_.emplace(handle, out.slot_);
    out.slot_ = nullptr;
    return handle;
  }

  void checkin(const Handle& handle) requires std::copyable<Handle> && Hashable<Handle> {
    Slot* slot = nullptr;
    {
      const MutexLock lock(checked_out_mutex_);
      const auto found = checked_out_.find(handle);
      if (found != checked_out_.end()) {
        slot = found->second;
        checked_out_.erase(found);
      }
    }
    if (slot == nullptr) {
      throw UnknownHandle("checkin: handle " + handle_in_words(handle) +
                          " is not checked out of this cache: it was checked in already, or comes from elsewhere");
    }
    release(*slot);
  }

 private:
  static constexpr bool measures_at_return = HasBytes<Factory> && !bytes_fixed_of<Factory>();
  static constexpr bool calls_at_return = measures_at_return || HasReset<Factory> || StreamFactory<Factory>;

  FactoryCore(const Budget& budget, const Options& options, Factory factory)
      : CacheCore(budget, options, default_budget_of<Factory>(), is_shared, survives_fork_of<Factory>()),
        factory_(std::move(factory)) {}

  [[nodiscard]] static std::uint64_t hash_of(const Key& key) { return std::hash<Key>{}(key); }
  [[nodiscard]] static Slot& typed(detail::Slot& slot) noexcept { return static_cast<Slot&>(slot); }
  [[nodiscard]] static const Slot& typed(const detail::Slot& slot) noexcept { return static_cast<const Slot&>(slot); }
  [[nodiscard]] static const Key& typed_key(const KeyRecord& record) noexcept {
    return static_cast<const Record&>(record).key;
  }

  [[nodiscard]] static bool try_return(Slot& slot, Word& after) noexcept {
    if constexpr (!is_shared) {
      if (slot.try_plain_return(after)) return true;
    }
    return slot.try_return(after);
  }

  [[nodiscard]] auto enter(const Key& key) const {
    if constexpr (ContextFactory<Factory>) {
      return factory_.enter(key);
    } else {
      return NoStream{};
    }
  }

  Lease<Factory> lease(const Key& key, const Stream& stream, OnMiss on_miss, Deadline deadline) {
    const std::uint64_t hash = hash_of(key);
    if constexpr (StreamFactory<Factory>) {
      return lease_on_stream({&key, hash, factory_.stream_state(key, stream)}, stream, on_miss, deadline);
    }
    Slot* slot = claim_remembered(key, hash);
    if (slot == nullptr) {
      slot = static_cast<Slot*>(acquire_slow({&key, hash}, on_miss, deadline));
      if (slot == nullptr) return {};
      if constexpr (is_shared) remember({id(), hash, slot, slot->word()});
    }
    if constexpr (HasPrepare<Factory>) {
      start_use(*slot, [&] {
        [[maybe_unused]] const auto inside = enter(slot->key());
        factory_.prepare(slot->key(), *slot->handle_);
      });
    }
    return Lease<Factory>(*this, *slot);
  }

  Lease<Factory> lease_on_stream(const Request& request, const Stream& stream, OnMiss on_miss,
                                 Deadline deadline) requires StreamFactory<Factory> {
    bool ordered = request.stream.capturing;
    Slot* slot = nullptr;
    if (request.stream.capturing) {
      slot = claim_for_capture(request, on_miss);
    } else {
      slot = claim_remembered(*static_cast<const Key*>(request.key), hash_on_stream(request.hash, request.stream.id),
                              request.stream.id);
      if (slot == nullptr) slot = claim_in_order(request, on_miss, deadline, ordered);
    }
    if (slot == nullptr) return {};
    start_use(*slot, [&] {
      const Key& key = slot->key();
      if (slot->event_.has_value() && slot->stream.load(std::memory_order_relaxed) != request.stream.id) {
        slot->migrates_ = true;
        if (!ordered) factory_.wait(key, stream, *slot->event_);
      }
      slot->stream_ = stream;
      slot->stream.store(request.stream.id, std::memory_order_relaxed);
      if constexpr (HasStreamPrepare<Factory>) factory_.prepare(key, *slot->handle_, stream, request.stream);
    });
    return Lease<Factory>(*this, *slot);
  }

  /// A handle for work on a stream: one that the stream itself used last or whose work is done, else the one whose work is
  /// likely to end first, or a new one when that is worth more than waiting.
  ///
  /// @param ordered  set when all work of the handle is known to be done
  [[nodiscard]] Slot* claim_in_order(const Request& request, OnMiss on_miss, Deadline deadline, bool& ordered) {
    // What is claimed here and not wanted in the end goes back.
    struct Claims {
      FactoryCore& core;
      Slot* first = nullptr;  // of those on which other streams' work goes on
      Retired others = {};
      ~Claims() {
        if (first != nullptr) core.put_back(*first);
        while (detail::Slot* const slot = others.pop()) core.put_back(typed(*slot));
      }
      [[nodiscard]] Slot* take_first() noexcept { return core.hit(*std::exchange(first, nullptr)); }
    } pending{*this};
    while (detail::Slot* const claimed = claim_idle(request)) {
      Slot& slot = typed(*claimed);
      const bool same_stream = slot.stream.load(std::memory_order_relaxed) == request.stream.id;
      if (same_stream || !slot.event_.has_value() || is_done(slot)) {
        ordered = !same_stream;
        return hit(slot);
      }
      if (pending.first == nullptr) {
        pending.first = &slot;
      } else {
        pending.others.push(slot);
      }
    }
    if (pending.first == nullptr) return static_cast<Slot*>(acquire_slow(request, on_miss, deadline));
    const std::chrono::nanoseconds returned_at = pending.first->returned_at_;
    const bool another = on_miss == OnMiss::build && returned_at > std::chrono::nanoseconds::zero() &&
                         worth_another(*pending.first, now() - returned_at);
    if (!another) return pending.take_first();
    try {
      return static_cast<Slot*>(acquire_slow(request, on_miss, deadline));
    } catch (const BuildFailed&) {
      return pending.take_first();
    }
  }

  /// A handle for work that goes into a graph: from now on it is the graph's, which may run at any time.
  [[nodiscard]] Slot* claim_for_capture(const Request& request, OnMiss on_miss) {
    detail::Slot* const claimed = claim_idle(request);
    if (claimed == nullptr) {
      if (on_miss == OnMiss::give_up) return nullptr;
      const Key& key = *static_cast<const Key*>(request.key);
      throw WouldBuild("no idle handle for " + key_in_words(key) +
                       " and none can be built while the stream is capturing: call prewarm for this key first");
    }
    Slot& slot = typed(*claimed);
    if (!slot.captured.load(std::memory_order_relaxed)) {
      try {
        // A graph cannot wait for work outside of it.
        if (slot.event_.has_value()) factory_.synchronize(slot.key(), *slot.event_);
      } catch (...) {
        return_slow(slot, slot.bytes.load(std::memory_order_relaxed), Return::discard);
        throw;
      }
      slot.captured.store(true, std::memory_order_relaxed);
    }
    return hit(slot);
  }

  [[nodiscard]] bool is_done(const Slot& slot) const noexcept {
    try {
      return factory_.done(slot.key(), *slot.event_);
    } catch (...) {
      return false;  // then the wait for it tells why
    }
  }

  [[nodiscard]] Slot* hit(Slot& slot) noexcept {
    if (listener() != nullptr) [[unlikely]]
      notify_hit(slot);
    return &slot;
  }

  /// Undoes a claim.
  [[gnu::noinline]] void put_back(Slot& slot) noexcept {
    slot.hits.fetch_sub(1, std::memory_order_relaxed);
    Word after = 0;
    if (!try_return(slot, after)) return_slow(slot, slot.bytes.load(std::memory_order_relaxed), Return::keep);
  }

  [[nodiscard]] static std::uint64_t remembered_hash(const Slot& slot) noexcept {
    if constexpr (StreamFactory<Factory>) {
      return hash_on_stream(slot.hash, slot.stream.load(std::memory_order_relaxed));
    } else {
      return slot.hash;
    }
  }

  [[nodiscard]] Slot* claim_remembered(const Key& key, std::uint64_t hash, [[maybe_unused]] std::uint64_t stream = 0) {
    const Remembered* const seen = find_remembered(id(), hash);
    if (seen == nullptr || has_deferred()) return nullptr;
    Slot& slot = static_cast<Slot&>(*seen->slot);
    if constexpr (is_shared) {
      if (!slot.claim_shared(seen->word)) return nullptr;
      slot.hits.fetch_add(1, std::memory_order_relaxed);
    } else {
      if (!slot.claim(seen->word)) return nullptr;
      slot.hits.store(slot.hits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    bool wanted = slot.key() == key;
    // Another stream may have had it meanwhile.
    if constexpr (StreamFactory<Factory>) wanted = wanted && slot.stream.load(std::memory_order_relaxed) == stream;
    if (!wanted) [[unlikely]] {
      put_back(slot);
      return nullptr;
    }
    return hit(slot);
  }

  /// Makes a claimed handle ready for its lease, or gives it up.
  template <class Prepare>
  void start_use(Slot& slot, Prepare&& prepare) {
    try {
      prepare();
    } catch (...) {
      return_slow(slot, slot.bytes.load(std::memory_order_relaxed), Return::discard);
      throw;
    }
  }

  /// Everything the factory does at a return; tells what is to become of the handle.
  [[nodiscard]] Return finish_use(Slot& slot, [[maybe_unused]] std::size_t& bytes, bool done) noexcept {
    if (gone(slot) || (!done && !mark_work(slot))) return Return::forget;
    try {
      [[maybe_unused]] const Key& key = slot.key();
      if constexpr (StreamFactory<Factory> && HasReset<Factory>) factory_.reset(key, *slot.handle_);
      if constexpr (measures_at_return || !StreamFactory<Factory>) {
        [[maybe_unused]] const auto inside = enter(key);
        if constexpr (!StreamFactory<Factory> && HasReset<Factory>) factory_.reset(key, *slot.handle_);
        if constexpr (measures_at_return) bytes = factory_.bytes(key, *slot.handle_);
      }
      return Return::keep;
    } catch (...) {
      return Return::discard;
    }
  }

  /// Whether the handle's library or context has gone, so that no call may reach it.
  [[nodiscard]] bool gone(const Slot& slot) const noexcept {
    return (retiring(slot.word()) && slot.forget.load(std::memory_order_relaxed)) || !alive(slot);
  }

  /// Records the end of the lease's work on its stream; when that fails the handle can never be safely destroyed.
  [[nodiscard]] bool mark_work([[maybe_unused]] Slot& slot) noexcept {
    if constexpr (StreamFactory<Factory>) {
      // What a graph will run is no work of the stream.
      if (slot.captured.load(std::memory_order_relaxed)) return true;
      try {
        if (!slot.event_.has_value()) slot.event_.emplace();
        factory_.record(slot.key(), *slot.event_, slot.stream_);
      } catch (...) {
        return false;
      }
      if (slot.migrates_) slot.returned_at_ = now();
    }
    return true;
  }

  bool has_key(const KeyRecord& record, const void* key) const override {
    return typed_key(record) == *static_cast<const Key*>(key);
  }

  std::unique_ptr<KeyRecord> make_record(Request request) const override {
    return std::make_unique<Record>(*static_cast<const Key*>(request.key), request.hash);
  }

  const void* key_of(const KeyRecord& record) const noexcept override { return &typed_key(record); }
  std::string describe(const void* key) const override { return key_in_words(*static_cast<const Key*>(key)); }

  [[nodiscard]] std::string key_in_words(const Key& key) const {
    if constexpr (HasDescribe<Factory>) {
      return factory_.describe(key);
    } else if constexpr (Streamable<Key>) {
      std::ostringstream out;
      out << key;
      return out.str();
    } else {
      std::ostringstream out;
      out << "key with hash 0x" << std::hex << hash_of(key);
      return out.str();
    }
  }

  [[nodiscard]] static std::string handle_in_words(const Handle& handle) {
    std::ostringstream out;
    if constexpr (Streamable<Handle>) {
      out << handle;
    } else {
      out << "with hash 0x" << std::hex << std::hash<Handle>{}(handle);
    }
    return out.str();
  }

  bool same_context([[maybe_unused]] const KeyRecord& a, [[maybe_unused]] const KeyRecord& b) const override {
    if constexpr (ContextFactory<Factory>) {
      return factory_.context(typed_key(a)) == factory_.context(typed_key(b));
    } else {
      return true;
    }
  }

  detail::Slot& add_slot() override { return slots_.emplace_back(); }

  void create(detail::Slot& base) override {
    Slot& slot = typed(base);
    slot.migrates_ = false;
    slot.returned_at_ = {};
    const Key& key = typed_key(*slot.record);
    [[maybe_unused]] const auto inside = enter(key);
    if constexpr (HasDomain<Factory>) {
      const std::lock_guard<BuildDomain> alone(factory_.domain());
      slot.handle_.emplace(factory_.create(key));
    } else {
      slot.handle_.emplace(factory_.create(key));
    }
  }

  std::size_t measure([[maybe_unused]] const detail::Slot& slot) const override {
    if constexpr (HasBytes<Factory>) {
      const Key& key = typed_key(*slot.record);
      [[maybe_unused]] const auto inside = enter(key);
      return factory_.bytes(key, *typed(slot).handle_);
    } else {
      return 0;
    }
  }

  bool alive([[maybe_unused]] const detail::Slot& slot) const noexcept override {
    if constexpr (HasAlive<Factory>) {
      return factory_.alive(typed_key(*slot.record));
    } else {
      return true;
    }
  }

  void destroy(detail::Slot& base) override {
    Slot& slot = typed(base);
    const Key& key = typed_key(*slot.record);
    [[maybe_unused]] const auto inside = enter(key);
    if constexpr (StreamFactory<Factory>) {
      if (slot.event_.has_value()) {
        factory_.synchronize(key, *slot.event_);
        slot.event_.reset();
      }
    }
    Handle handle = std::move(*slot.handle_);
    slot.handle_.reset();
    if constexpr (HasDomain<Factory>) {
      const std::lock_guard<BuildDomain> alone(factory_.domain());
      factory_.destroy(key, std::move(handle));
    } else {
      factory_.destroy(key, std::move(handle));
    }
  }

  bool holds_handle(const detail::Slot& slot) const noexcept override { return typed(slot).handle_.has_value(); }

  void abandon(detail::Slot& slot) noexcept override {
    typed(slot).handle_.abandon();
    typed(slot).event_.abandon();
  }

  void drain_deferred() noexcept override {
    detail::Slot* next = take_deferred();
    while (next != nullptr) {
      Slot& slot = typed(*next);
      next = slot.next_deferred;
      // The count is taken after the link was read: from here on a shared slot may be pushed again.
      for (std::uint32_t count = slot.deferred.exchange(0, std::memory_order_acq_rel); count > 0; --count)
        release(slot);
    }
  }

  Factory factory_;
  std::deque<Slot> slots_;  // grows with the mutex held; addresses are stable
  // Handles that cannot be hashed cannot be checked out; int only keeps the member well-formed for them.
  std::unordered_multimap<std::conditional_t<Hashable<Handle>, Handle, int>, Slot*> checked_out_
      LARDER_GUARDED_BY(checked_out_mutex_);
};

}  // namespace detail
}  // namespace larder
