// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HandleFactory: how one kind of handle is created, destroyed, measured, prepared and reset.
//
//   struct Plans {
//     using Key    = ...;                       // copyable, ==, std::hash; everything that decides what a handle can serve
//     using Handle = ...;                       // movable
//     Handle create(const Key&);                // may throw; then nothing is kept and nothing leaks
//     void   destroy(const Key&, Handle);       // may throw; counted and reported, never propagated
//
//     // The rest is optional.
//     static constexpr Sharing sharing = Sharing::exclusive;
//     static constexpr Budget default_budget{.max_idle = 64};    // for fields set neither in code nor in the environment
//     static constexpr bool bytes_fixed = true;  // bytes() never changes after create: ask once instead of at each return
//     static constexpr bool survives_fork = true; // a forked child may go on using and destroying the parent's handles
//     std::size_t bytes(const Key&, const Handle&) const;       // memory it holds
//     std::string describe(const Key&) const;   // the key in words; default: operator<<
//     void prepare(const Key&, Handle&);        // at acquire, of a new and of an old handle alike
//     void reset(const Key&, Handle&);          // at return: sticky state back to default
//     bool alive(const Key&) const noexcept;    // false once library, driver or context has gone: handles are then abandoned
//     BuildDomain& domain() const;              // held around create and destroy
//
//     // Handles that belong to a device context:
//     using Context = ...;                      // ==; differs for a new context at an old one's address
//     Context context(const Key&) const;
//     auto enter(const Key&) const;             // makes the key's context current; the returned guard's destructor restores
//                                               // what was current before and does not throw
//     void invalidate(const Context&) noexcept; // the context has gone: forget what the factory itself has in it
//
//     // Handles whose work runs on after the return of the lease. prepare, reset and the members below are called on hits,
//     // outside enter(): they make the context current where they need it.
//     using Stream = ...;                       // copyable, default constructible
//     using Event  = ...;                       // default constructible; destroyed inside enter()
//     StreamState stream_state(const Key&, Stream) const;
//     void prepare(const Key&, Handle&, Stream, StreamState);  // replaces prepare(key, handle)
//     void record(const Key&, Event&, Stream);            // at return: event = all work given to the stream so far
//     void wait(const Key&, Stream, const Event&);        // at acquire for another stream: order its work after the event
//     bool done(const Key&, const Event&) const;          // whether the event's work is done; does not block
//     void synchronize(const Key&, const Event&);         // before destroy: block until the event's work is done
//   };
//
// The cache calls a factory from many threads at once, except as domain() forbids. No cache lock is held, but for context()
// and describe(), which must not call the cache; each other member may call back into it. A handle is used by one call at
// a time unless sharing is `shared`.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <larder/budget.hpp>
#include <larder/build_domain.hpp>
#include <larder/stream_state.hpp>

namespace larder {

/// Whether many leases may use one handle at once.
enum class Sharing : std::uint8_t {
  exclusive,  ///< two leases never share a handle; several handles of one key may be live
  shared,     ///< one handle per key, reference counted; concurrent requests for a cold key cause one build
};

/// The least that a handle kind must bring; see the head of factory.hpp for what it may add.
template <class F>
concept HandleFactory = std::copyable<typename F::Key> && std::equality_comparable<typename F::Key> &&
    std::movable<typename F::Handle> && std::move_constructible<F> &&
    requires(F& factory, const typename F::Key& key, typename F::Handle handle) {
  { std::hash<typename F::Key>{}(key) } -> std::convertible_to<std::size_t>;
  { factory.create(key) } -> std::convertible_to<typename F::Handle>;
  factory.destroy(key, std::move(handle));
};

/// A factory whose handles belong to a device context.
template <class F>
concept ContextFactory = HandleFactory<F> && requires(const F& factory, const typename F::Key& key) {
  { factory.context(key) } -> std::convertible_to<typename F::Context>;
  requires std::equality_comparable<typename F::Context>;
  factory.enter(key);
};

/// A factory whose handles' work outlives the lease on a stream.
template <class F>
concept StreamFactory = HandleFactory<F> && std::default_initializable<typename F::Event> &&
    std::copyable<typename F::Stream> && std::default_initializable<typename F::Stream> &&
    requires(F& factory, const typename F::Key& key, typename F::Event& event, typename F::Stream stream) {
  { factory.stream_state(key, stream) } -> std::same_as<StreamState>;
  factory.record(key, event, stream);
  factory.wait(key, stream, event);
  { factory.done(key, event) } -> std::convertible_to<bool>;
  factory.synchronize(key, event);
};

}  // namespace larder
