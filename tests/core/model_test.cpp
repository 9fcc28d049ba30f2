// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random operations on an exclusive cache under lru, against a simple sequential model that is checked after each one.
//
// The model says for every handle whether it is idle, leased, destroyed or abandoned, which handle each request gets
// (the newest idle one of its key), and so which ones every budget evicts (the one returned longest ago). Time, failures
// of create, prepare, reset and destroy, contexts, deferred returns and check-outs are part of it.
//
// LARDER_MODEL_OPERATIONS=N makes it run about N operations instead of 200 trials of 400.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <larder/handle_cache.hpp>

#include "doubles/fake_clock.hpp"
#include "doubles/remote_factory.hpp"

namespace larder::core_tests {

/// A key in one of two contexts, which counts how many of it exist: what the cache keeps of a key is a copy.
class CountedKey {
 public:
  CountedKey(int context_number, int key_in_context) : context(context_number), number(key_in_context) { ++instances; }
  CountedKey(const CountedKey& other) : context(other.context), number(other.number) { ++instances; }
  CountedKey& operator=(const CountedKey&) = default;
  ~CountedKey() { --instances; }
  friend bool operator==(const CountedKey& a, const CountedKey& b) {
    return a.context == b.context && a.number == b.number;
  }

  static inline std::atomic<int> instances{0};
  int context;
  int number;
};

inline constexpr int keys_per_context = 6;
[[nodiscard]] inline int key_number(const CountedKey& key) noexcept {
  return key.context * keys_per_context + key.number;
}

}  // namespace larder::core_tests

template <>
struct std::hash<larder::core_tests::CountedKey> {
  // Keys of one number collide across contexts.
  std::size_t operator()(const larder::core_tests::CountedKey& key) const noexcept {
    return static_cast<std::size_t>(key.number);
  }
};

namespace larder::core_tests {
namespace {

using doubles::Call;
using std::chrono::nanoseconds;

constexpr std::size_t trials = 200;
constexpr std::size_t operations_per_trial = 400;
constexpr int contexts = 2;
constexpr int keys = contexts * keys_per_context;

class ModelFactory : public doubles::RemoteFactory<Sharing::exclusive, CountedKey> {
 public:
  using Context = int;
  using RemoteFactory::RemoteFactory;
  [[nodiscard]] Context context(const CountedKey& key) const { return key.context; }
  [[nodiscard]] int enter(const CountedKey&) const { return 0; }
};

enum class Kind : std::uint8_t {
  acquire,
  release,
  release_deferred,
  try_acquire,
  discard,
  grow,
  advance_clock,
  checkout,
  checkin,
  checkin_unknown,
  prewarm,
  set_budget,
  trim,
  drain,
  stats,
  invalidate,
  clear,
};

enum class Fault : std::uint8_t { none, create, create_retry_once, create_retry_twice, prepare, reset, destroy };

struct Operation {
  Kind kind = Kind::acquire;
  int key = 0;     // 0 .. keys - 1
  int amount = 0;  // 0 .. 63
  Fault fault = Fault::none;

  friend std::ostream& operator<<(std::ostream& out, const Operation& operation) {
    static constexpr std::array names{"acquire",
                                      "release",
                                      "release_deferred",
                                      "try_acquire",
                                      "discard",
                                      "grow",
                                      "advance_clock",
                                      "checkout",
                                      "checkin",
                                      "checkin_unknown",
                                      "prewarm",
                                      "set_budget",
                                      "trim",
                                      "drain",
                                      "stats",
                                      "invalidate",
                                      "clear"};
    static constexpr std::array faults{"",
                                       " failing create",
                                       " create out of memory",
                                       " create out of memory twice",
                                       " failing prepare",
                                       " failing reset",
                                       " failing destroy"};
    return out << names[static_cast<std::size_t>(operation.kind)] << "(key " << operation.key << ", "
               << operation.amount << ')' << faults[static_cast<std::size_t>(operation.fault)];
  }
};

/// Reads an operation off a number.
Operation decode(std::uint32_t code) {
  static constexpr std::array weights{std::pair{Kind::acquire, 24U},
                                      std::pair{Kind::release, 18U},
                                      std::pair{Kind::release_deferred, 5U},
                                      std::pair{Kind::try_acquire, 5U},
                                      std::pair{Kind::discard, 2U},
                                      std::pair{Kind::grow, 3U},
                                      std::pair{Kind::advance_clock, 6U},
                                      std::pair{Kind::checkout, 5U},
                                      std::pair{Kind::checkin, 5U},
                                      std::pair{Kind::checkin_unknown, 1U},
                                      std::pair{Kind::prewarm, 4U},
                                      std::pair{Kind::set_budget, 4U},
                                      std::pair{Kind::trim, 2U},
                                      std::pair{Kind::drain, 2U},
                                      std::pair{Kind::stats, 3U},
                                      std::pair{Kind::invalidate, 1U},
                                      std::pair{Kind::clear, 1U}};
  const auto take = [&code](std::uint32_t radix) {
    const std::uint32_t digit = code % radix;
    code /= radix;
    return digit;
  };
  Operation operation;
  std::uint32_t at = take(91);
  for (const auto& [kind, weight] : weights) {
    if (at < weight) {
      operation.kind = kind;
      break;
    }
    at -= weight;
  }
  operation.key = static_cast<int>(take(keys));
  operation.amount = static_cast<int>(take(64));
  const std::uint32_t fault = take(24);
  operation.fault = fault <= 6 ? static_cast<Fault>(fault) : Fault::none;
  return operation;
}
constexpr std::uint32_t codes = 91 * keys * 64 * 24;

/// What the cache should do, as simply as it can be said.
class Model {
 public:
  enum class State : std::uint8_t { idle, leased, destroyed, abandoned };
  struct Handle {
    int key;
    State state = State::leased;
    std::uint64_t returned = 0;  // order of return
    nanoseconds since{0};        // of its last return while an age limit was set
    std::size_t bytes;           // as last measured
    std::size_t grown = 0;       // since creation
    bool condemned = false;
    bool forget = false;
  };
  struct Limits {
    std::size_t idle = Budget::unlimited;
    std::size_t per_key = Budget::unlimited;
    std::size_t bytes = Budget::unlimited;
    nanoseconds age = Budget::unlimited_age;
  };

  explicit Model(doubles::FakeClock& clock) : clock_(clock) {}

  [[nodiscard]] static std::size_t bytes_of(int key) { return static_cast<std::size_t>(1 + key % keys_per_context); }
  [[nodiscard]] static nanoseconds cost_of(int key) { return nanoseconds(key % 4); }
  [[nodiscard]] static int context_of(int key) { return key / keys_per_context; }

  // Each of these is one call on the cache, but for the faults, which the caller scripts. `clock` is the cache's own, moved
  // by the real creates; the model reads the time at which a build ended from `built_at`.
  struct Outcome {
    std::optional<std::size_t> handle;  // that the request got
    bool threw = false;
  };

  Outcome request(int key, bool builds, Fault fault) {
    drain();
    expire();
    std::optional<std::size_t> got = newest_idle(key);
    if (got) {
      ++hits;
      handles[*got].state = State::leased;
    } else {
      ++misses;
      if (!builds) return {};
      got = build(key, fault);
      if (!got) return {.handle = {}, .threw = true};
    }
    if (fault == Fault::prepare) {
      expire();
      destroy(*got);
      return {.handle = {}, .threw = true};
    }
    return {.handle = got, .threw = false};
  }

  bool prewarm(int key, std::size_t count, Fault fault) {
    drain();
    for (std::size_t built = 0; built < count; ++built) {
      expire();
      const std::size_t wanted = std::min({count, limits.idle, limits.per_key});
      if (count_idle(key) >= wanted) return true;
      const std::optional<std::size_t> made = build(key, built == 0 ? fault : Fault::none);
      if (!made) return false;
      expire();
      keep(*made);
    }
    return true;
  }

  void release(std::size_t handle, Fault fault) {
    expire();
    Handle& it = handles[handle];
    const bool reset_failed = fault == Fault::reset;
    if (it.condemned || reset_failed) {
      leave(handle);
      return;
    }
    it.bytes = bytes_of(it.key) + it.grown;
    keep(handle);
  }
  void release_deferred(std::size_t handle) { deferred.push_back(handle); }
  void discard(std::size_t handle) {
    expire();
    leave(handle);
  }
  // What came back last is taken in first.
  void drain() {
    while (!deferred.empty()) {
      const std::size_t handle = deferred.back();
      deferred.pop_back();
      release(handle, Fault::none);
    }
  }
  void set_budget(const Limits& wanted) {
    drain();
    if (limits.age == Budget::unlimited_age) {
      for (Handle& handle : handles) handle.since = clock_.now();
    }
    limits = wanted;
    expire();
    for (int key = 0; key < keys; ++key) enforce_per_key(key);
    enforce();
  }
  void clear() {
    drain();
    for (std::size_t handle = 0; handle < handles.size(); ++handle) {
      if (handles[handle].state == State::idle) destroy(handle);
      if (handles[handle].state == State::leased) handles[handle].condemned = true;
    }
  }
  void invalidate(int context) {
    drain();
    for (Handle& handle : handles) {
      if (context_of(handle.key) != context) continue;
      if (handle.state == State::idle) handle.state = State::abandoned;
      if (handle.state == State::leased) handle.condemned = handle.forget = true;
    }
  }
  std::size_t trim(std::size_t bytes) {
    drain();
    expire();
    std::size_t freed = 0;
    while (freed < bytes) {
      const std::optional<std::size_t> victim = oldest_idle(any_key);
      if (!victim) break;
      freed += handles[*victim].bytes;
      destroy(*victim);
    }
    return freed;
  }
  void stats() {
    drain();
    expire();
  }

  [[nodiscard]] std::size_t count(State state) const {
    return static_cast<std::size_t>(
        std::count_if(handles.begin(), handles.end(), [state](const Handle& handle) { return handle.state == state; }));
  }
  [[nodiscard]] std::size_t bytes(State state) const {
    std::size_t sum = 0;
    for (const Handle& handle : handles) sum += handle.state == state ? handle.bytes : 0;
    return sum;
  }
  [[nodiscard]] std::set<int> keys_in(std::initializer_list<State> states) const {
    std::set<int> found;
    for (const Handle& handle : handles) {
      if (std::find(states.begin(), states.end(), handle.state) != states.end()) found.insert(handle.key);
    }
    return found;
  }
  [[nodiscard]] std::size_t most_idle_of_a_key() const {
    std::size_t most = 0;
    for (int key = 0; key < keys; ++key) most = std::max(most, count_idle(key));
    return most;
  }

  std::vector<Handle> handles;  // by number
  std::vector<std::size_t> deferred;
  Limits limits;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t build_failures = 0;

 private:
  static constexpr int any_key = -1;

  [[nodiscard]] std::size_t count_idle(int key) const {
    return static_cast<std::size_t>(std::count_if(handles.begin(), handles.end(), [key](const Handle& handle) {
      return handle.state == State::idle && handle.key == key;
    }));
  }
  template <class Better>
  [[nodiscard]] std::optional<std::size_t> idle_by_return(int key, Better better) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i].state != State::idle || (key != any_key && handles[i].key != key)) continue;
      if (!best || better(handles[i].returned, handles[*best].returned)) best = i;
    }
    return best;
  }
  [[nodiscard]] std::optional<std::size_t> newest_idle(int key) const { return idle_by_return(key, std::greater<>()); }
  [[nodiscard]] std::optional<std::size_t> oldest_idle(int key) const { return idle_by_return(key, std::less<>()); }

  std::optional<std::size_t> build(int key, Fault fault) {
    if (fault == Fault::create) {
      ++build_failures;
      return {};
    }
    if (fault == Fault::create_retry_once || fault == Fault::create_retry_twice) {
      ++build_failures;
      for (std::size_t i = 0; i < handles.size(); ++i) {
        if (handles[i].state == State::idle && context_of(handles[i].key) == context_of(key)) destroy(i);
      }
      if (fault == Fault::create_retry_twice) {
        ++build_failures;
        return {};
      }
    }
    clock_.advance(cost_of(key));
    handles.push_back(Handle{.key = key, .bytes = bytes_of(key)});
    return handles.size() - 1;
  }
  void destroy(std::size_t handle) { handles[handle].state = State::destroyed; }
  void leave(std::size_t handle) {
    handles[handle].state = handles[handle].forget ? State::abandoned : State::destroyed;
  }
  void keep(std::size_t handle) {
    Handle& it = handles[handle];
    if (it.bytes > limits.bytes) return destroy(handle);
    it.state = State::idle;
    it.returned = ++returns_;
    it.since = clock_.now();
    enforce_per_key(it.key);
    enforce();
  }
  void enforce_per_key(int key) {
    while (count_idle(key) > limits.per_key) destroy(*oldest_idle(key));
  }
  void enforce() {
    while (count(State::idle) > limits.idle) destroy(*oldest_idle(any_key));
    while (bytes(State::idle) > limits.bytes) destroy(*oldest_idle(any_key));
  }
  void expire() {
    if (limits.age == Budget::unlimited_age) return;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      if (handles[i].state == State::idle && clock_.now() - handles[i].since > limits.age) destroy(i);
    }
  }

  doubles::FakeClock& clock_;  // the model's own, in step with the cache's
  std::uint64_t returns_ = 0;
};

/// A cache and its model, side by side.
class Trial {
 public:
  Trial() {
    model_.limits.idle = first_max_idle;
    for (int key = 0; key < keys; ++key) {
      control_->set_bytes(key, Model::bytes_of(key));
      control_->set_build_cost(key, Model::cost_of(key));
    }
  }

  ~Trial() {
    // A trial that failed must not leave a cache behind that waits for its handles.
    for (const auto& [handle, number] : checked_out_) cache_.checkin(handle);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void run(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      script(operation);
      apply(operation);
      control_->forget_failures();
      compare(operation);
    }
    finish();
  }

 private:
  static constexpr std::size_t first_max_idle = 12;
  using Handle = std::size_t;
  struct Held {
    Lease<ModelFactory> lease;
    Handle number;
  };

  static void require(bool holds, const std::string& what) {
    if (!holds) throw std::logic_error(what);
  }
  template <class A, class B>
  static void require_equal(const A& cache, const B& model, const std::string& what) {
    if (cache == model) return;
    std::ostringstream out;
    out << what << ": the cache says " << cache << ", the model " << model;
    throw std::logic_error(out.str());
  }

  [[nodiscard]] static CountedKey key_of(int key) { return {Model::context_of(key), key % keys_per_context}; }

  [[nodiscard]] static bool is_return(Kind kind) noexcept { return kind == Kind::release || kind == Kind::checkin; }

  void script(const Operation& operation) {
    switch (operation.fault) {
      case Fault::none: break;
      case Fault::create: control_->throw_at(Call::create, 1); break;
      case Fault::create_retry_twice: control_->throw_at(Call::create, 2, doubles::out_of_memory()); [[fallthrough]];
      case Fault::create_retry_once: control_->throw_at(Call::create, 1, doubles::out_of_memory()); break;
      case Fault::prepare: control_->throw_at(Call::prepare, 1); break;
      case Fault::reset:
        // Only of the operation's own return, not of returns that it takes in.
        if (is_return(operation.kind)) control_->throw_at(Call::reset, 1);
        break;
      case Fault::destroy: control_->throw_at(Call::destroy, 1); break;
    }
  }

  void apply(const Operation& operation) {
    const std::size_t amount = static_cast<std::size_t>(operation.amount);
    switch (operation.kind) {
      case Kind::acquire:
        request(
            operation, [this](const CountedKey& key) { return cache_.acquire(key); }, true);
        break;
      case Kind::try_acquire:
        request(
            operation, [this](const CountedKey& key) { return cache_.try_acquire(key); }, false);
        break;
      case Kind::checkout: check_out(operation); break;
      case Kind::checkin:
        if (checked_out_.empty()) break;
        model_.release(checked_out_[amount % checked_out_.size()].second, operation.fault);
        cache_.checkin(checked_out_[amount % checked_out_.size()].first);
        remove(checked_out_, amount);
        break;
      case Kind::checkin_unknown: {
        doubles::RemoteObject stranger(0, 0);
        try {
          cache_.checkin(&stranger);
          require(false, "a stranger was checked in");
        } catch (const UnknownHandle&) {
        }
        break;
      }
      case Kind::release:
        if (leases_.empty()) break;
        model_.release(leases_[amount % leases_.size()].number, operation.fault);
        remove(leases_, amount);
        break;
      case Kind::release_deferred:
        if (leases_.empty()) break;
        model_.release_deferred(leases_[amount % leases_.size()].number);
        leases_[amount % leases_.size()].lease.release_deferred();
        remove(leases_, amount);
        break;
      case Kind::discard:
        if (leases_.empty()) break;
        model_.discard(leases_[amount % leases_.size()].number);
        leases_[amount % leases_.size()].lease.discard();
        remove(leases_, amount);
        break;
      case Kind::grow:
        if (leases_.empty()) break;
        (*leases_[amount % leases_.size()].lease)->extra_bytes += amount % 4;
        model_.handles[leases_[amount % leases_.size()].number].grown += amount % 4;
        break;
      case Kind::advance_clock:
        clock_.advance(nanoseconds(operation.amount % 16));
        model_clock_.advance(nanoseconds(operation.amount % 16));
        break;
      case Kind::prewarm: {
        // A fault of a later build than the first is not scripted; a prewarm that builds none lets it pass.
        const bool succeeds = model_.prewarm(operation.key, amount % 5, operation.fault);
        bool succeeded = true;
        try {
          cache_.prewarm(key_of(operation.key), amount % 5);
        } catch (const std::exception&) {
          succeeded = false;
        }
        require_equal(succeeded, succeeds, "prewarm");
        break;
      }
      case Kind::set_budget: set_budget(amount, operation.key); break;
      case Kind::trim: {
        const std::size_t bytes = amount == 63 ? Budget::unlimited : amount;
        require_equal(cache_.trim(bytes), model_.trim(bytes), "bytes freed by trim");
        break;
      }
      case Kind::drain:
        model_.drain();
        cache_.drain();
        break;
      case Kind::stats: compare_stats(); break;
      case Kind::invalidate:
        model_.invalidate(Model::context_of(operation.key));
        cache_.invalidate(Model::context_of(operation.key));
        break;
      case Kind::clear:
        model_.clear();
        cache_.clear();
        break;
    }
  }

  template <class T>
  static void remove(std::vector<T>& from, std::size_t at) {
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(at % from.size()));
  }

  template <class Acquire>
  void request(const Operation& operation, Acquire acquire, bool builds) {
    if (leases_.size() >= 12) return;
    const Model::Outcome expected = model_.request(operation.key, builds, operation.fault);
    try {
      Lease<ModelFactory> lease = acquire(key_of(operation.key));
      require(!expected.threw, "the request should have failed");
      require_equal(static_cast<bool>(lease), expected.handle.has_value(), "a lease");
      if (!lease) return;
      require_equal((*lease)->number, *expected.handle, "the handle leased");
      leases_.push_back({std::move(lease), *expected.handle});
    } catch (const doubles::RemoteFailure&) {
      require(expected.threw, "the request should have succeeded");
    } catch (const BuildFailed&) {
      require(expected.threw, "the request should have succeeded");
    }
  }

  void check_out(const Operation& operation) {
    if (checked_out_.size() >= 6) return;
    const Model::Outcome expected = model_.request(operation.key, true, operation.fault);
    try {
      doubles::RemoteHandle const handle = cache_.checkout(key_of(operation.key));
      require(!expected.threw, "the checkout should have failed");
      require_equal(handle->number, *expected.handle, "the handle checked out");
      checked_out_.emplace_back(handle, *expected.handle);
    } catch (const doubles::RemoteFailure&) {
      require(expected.threw, "the checkout should have succeeded");
    } catch (const BuildFailed&) {
      require(expected.threw, "the checkout should have succeeded");
    }
  }

  void set_budget(std::size_t a, int b) {
    const std::size_t c = a + static_cast<std::size_t>(b);
    Model::Limits limits;
    limits.idle = a % 16 < 13 ? a % 16 : Budget::unlimited;
    limits.per_key = b < 6 ? static_cast<std::size_t>(b) : Budget::unlimited;
    limits.bytes = c % 2 == 0 ? c % 41 : Budget::unlimited;
    limits.age = c % 3 == 0 ? nanoseconds(1 + a % 30) : Budget::unlimited_age;
    model_.set_budget(limits);
    cache_.set_budget({.max_idle = limits.idle,
                       .max_idle_per_key = limits.per_key,
                       .max_idle_bytes = limits.bytes,
                       .max_idle_age = limits.age});
  }

  void compare(const Operation&) {
    require_equal(clock_.now().count(), model_clock_.now().count(), "time");
    require_equal(control_->created(), model_.handles.size(), "handles created");
    std::vector<std::uint64_t> survivors;
    for (std::size_t i = 0; i < model_.handles.size(); ++i) {
      if (model_.handles[i].state != Model::State::destroyed) survivors.push_back(i);
    }
    if (const auto alive = control_->survivors(); alive != survivors) {
      std::ostringstream out;
      out << "handles not destroyed: the library has";
      for (const auto number : alive) out << ' ' << number;
      out << ", the model";
      for (const auto number : survivors) out << ' ' << number;
      throw std::logic_error(out.str());
    }
    using State = Model::State;
    require(model_.count(State::idle) <= model_.limits.idle, "max_idle is exceeded");
    require(model_.most_idle_of_a_key() <= model_.limits.per_key, "max_idle_per_key is exceeded");
    require(model_.bytes(State::idle) <= model_.limits.bytes, "max_idle_bytes is exceeded");
    // One copy of each key that has live handles, and none else: no empty bookkeeping is left behind.
    require_equal(static_cast<std::size_t>(CountedKey::instances.load()),
                  model_.keys_in({State::idle, State::leased}).size(), "keys kept");
    if (const auto wrong = control_->violations(); !wrong.empty()) throw std::logic_error(wrong.front());
  }

  void compare_stats() {
    using State = Model::State;
    model_.stats();
    const Stats stats = cache_.stats();
    require_equal(stats.idle, model_.count(State::idle), "idle");
    require_equal(stats.leased, model_.count(State::leased), "leased");
    require_equal(stats.live, stats.idle + stats.leased, "live");
    require_equal(stats.idle_keys, model_.keys_in({State::idle}).size(), "idle_keys");
    require_equal(stats.idle_bytes, model_.bytes(State::idle), "idle_bytes");
    require_equal(stats.leased_bytes, model_.bytes(State::leased), "leased_bytes");
    require_equal(stats.builds, model_.handles.size(), "builds");
    require_equal(stats.destroys, model_.count(State::destroyed), "destroys");
    require_equal(stats.abandoned, model_.count(State::abandoned), "abandoned");
    require_equal(stats.hits, model_.hits, "hits");
    require_equal(stats.misses, model_.misses, "misses");
    require_equal(stats.build_failures, model_.build_failures, "build_failures");
  }

  void finish() {
    leases_.clear();
    for (const auto& [handle, number] : checked_out_) cache_.checkin(handle);
    checked_out_.clear();
    cache_.clear();
    const Stats stats = cache_.stats();
    require_equal(stats.live, 0U, "live at the end");
    require_equal(stats.builds, stats.destroys + stats.abandoned, "builds at the end, against destroys and abandoned");
    require_equal(control_->destroyed(), stats.destroys, "destroys at the end");
    require_equal(CountedKey::instances.load(), 0, "keys kept at the end");
  }

  doubles::FakeClock clock_;
  doubles::FakeClock model_clock_;
  std::shared_ptr<doubles::RemoteControl> control_ = std::make_shared<doubles::RemoteControl>(&clock_);
  HandleCache<ModelFactory> cache_{
      {.max_idle = first_max_idle}, {.policy = Policy::lru, .clock = &clock_}, ModelFactory(control_)};
  Model model_{model_clock_};
  std::vector<Held> leases_;
  std::vector<std::pair<doubles::RemoteHandle, Handle>> checked_out_;
};

[[nodiscard]] std::size_t trials_wanted() {
  const char* const operations = std::getenv("LARDER_MODEL_OPERATIONS");
  if (operations == nullptr) return trials;
  const std::optional<std::size_t> count = parse_count(operations);
  if (!count) throw std::invalid_argument("LARDER_MODEL_OPERATIONS is not a count: " + std::string(operations));
  return (*count + operations_per_trial - 1) / operations_per_trial;
}

TEST(HandleCacheCases, C21_RandomOperationsAgreeWithTheModel) {
  // RapidCheck reads its configuration once, at the first check; what the caller has set stays in force.
  ::setenv("RC_PARAMS", ("max_success=" + std::to_string(trials_wanted())).c_str(), 0);
  EXPECT_TRUE(rc::check("random operations agree with the model", [] {
    const auto one = rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, codes)), decode);
    const auto trial = rc::gen::noShrink(rc::gen::container<std::vector<Operation>>(operations_per_trial, one));
    // A trial that fails is made smaller by leaving operations out, many at once: each attempt is a whole trial.
    Trial().run(*rc::gen::shrink(
        trial, [](const std::vector<Operation>& operations) { return rc::shrink::removeChunks(operations); }));
  }));
}

}  // namespace
}  // namespace larder::core_tests
