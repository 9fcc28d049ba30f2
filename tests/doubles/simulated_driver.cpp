// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "doubles/simulated_driver.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace larder::doubles {

namespace {

// CUDA's results, which messages name.
constexpr long invalid_context = 201;
constexpr long context_is_destroyed = 709;
constexpr long out_of_memory = 2;

constexpr int mode_global = 0;
constexpr int mode_relaxed = 2;

/// For each stream, how many of its launches come before.
using Clock = std::map<std::uint64_t, std::uint64_t>;

void merge(Clock& into, const Clock& from) {
  for (const auto& [stream, launches] : from) into[stream] = std::max(into[stream], launches);
}

bool covers(const Clock& clock, std::uint64_t stream, std::uint64_t launches) {
  const auto found = clock.find(stream);
  return launches == 0 || (found != clock.end() && found->second >= launches);
}

bool covers(const Clock& clock, const Clock& other) {
  return std::all_of(other.begin(), other.end(), [&](const auto& e) { return covers(clock, e.first, e.second); });
}

/// Addresses, the lowest free one first: what is gone has its address used again.
class Addresses {
 public:
  [[nodiscard]] void* take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto index = free - taken_.begin();
    if (free == taken_.end()) taken_.push_back(false);
    taken_[static_cast<std::size_t>(index)] = true;
    return reinterpret_cast<void*>((static_cast<std::uintptr_t>(index) + 1) * spacing);
  }
  void give_back(void* address) { taken_[reinterpret_cast<std::uintptr_t>(address) / spacing - 1] = false; }

 private:
  static constexpr std::uintptr_t spacing = 4096;
  std::vector<bool> taken_;
};

/// When work last used something, and which graph does.
struct Use {
  std::uint64_t stream = 0;
  std::uint64_t launch = 0;
  std::uint64_t capture = 0;
  std::uint64_t branch = 0;  // of the capture: the stream
};

struct ContextState {
  void* native;
  int device;
};

struct StreamRecord {
  std::uint64_t id = 0;
  std::uint64_t context = 0;
  std::uint64_t capture = 0;
};

struct EventRecord {
  std::uint64_t context = 0;
  std::uint64_t capture = 0;  // it marks a point in a graph
  Clock clock;
};

struct Memory {
  int device;
  std::uint64_t context;
  std::size_t bytes;
  Use use;
  bool free_asked = false;
  Clock free_after;
};

struct Object {
  std::string name;
  std::uint64_t context;
  int device;
  std::size_t bytes;
  bool destroyed = false;
  Use use;
};

}  // namespace

struct SimulatedDriver::State {
  State(int devices, std::size_t per_device) : capacity(per_device), used(static_cast<std::size_t>(devices), 0) {}

  // All members below and all functions: with the mutex held.
  std::mutex mutex;
  std::function<void(const std::string&)> hook;
  std::vector<std::string> violations;
  std::size_t capacity;
  std::vector<std::size_t> used;  // per device

  Addresses context_addresses;
  std::uint64_t last_context = 0;
  std::map<std::uint64_t, ContextState> contexts;  // alive, by id
  std::map<int, gpu::Context> primary;
  std::map<std::thread::id, std::vector<gpu::Context>> stacks;
  std::map<std::thread::id, int> capture_modes;

  Addresses stream_addresses;
  std::uint64_t last_stream = 0;
  std::map<void*, StreamRecord> streams;                                              // alive
  std::map<std::pair<std::uint64_t, std::thread::id>, StreamRecord> default_streams;  // no thread: the legacy one
  std::uint64_t last_capture = 0;
  std::size_t captures_open = 0;

  std::map<std::uint64_t, Clock> clocks;  // of each stream: what its next launch comes after
  Clock done;                             // known to the host to be done

  Addresses event_addresses;
  std::map<void*, EventRecord> events;  // alive
  std::uintptr_t last_memory = 0;
  std::map<const void*, Memory> memory;
  std::deque<Object> objects;
  std::uint64_t objects_destroyed = 0;
  gpu::Context switch_to;

  void violate(const std::string& what) { violations.push_back(what); }

  [[nodiscard]] std::vector<gpu::Context>& stack() { return stacks[std::this_thread::get_id()]; }
  [[nodiscard]] gpu::Context current() { return stack().empty() ? gpu::Context{} : stack().back(); }
  [[nodiscard]] bool alive(const gpu::Context& context) const { return contexts.count(context.id) > 0; }

  [[nodiscard]] gpu::Context make_context(int device) {
    const gpu::Context made{context_addresses.take(), ++last_context};
    contexts.emplace(made.id, ContextState{made.native, device});
    return made;
  }
  /// The current context's id; throws when there is none that is alive.
  std::uint64_t need_context(const std::string& call) {
    const gpu::Context now = current();
    if (!alive(now)) {
      violate(call + " without a context");
      throw gpu::DriverError(call, invalid_context, "INVALID_CONTEXT");
    }
    return now.id;
  }

  [[nodiscard]] StreamRecord* find_stream(const std::string& call, gpu::Stream stream) {
    void* const native = stream.native();
    if (is_default(native)) {
      const std::uint64_t context = need_context(call);
      const bool per_thread = reinterpret_cast<std::uintptr_t>(native) == 2;
      StreamRecord& record = default_streams[{context, per_thread ? std::this_thread::get_id() : std::thread::id{}}];
      if (record.id == 0) record = {.id = ++last_stream, .context = context};
      return &record;
    }
    const auto found = streams.find(native);
    if (found != streams.end()) return &found->second;
    violate(call + " on a stream that does not exist");
    return nullptr;
  }
  [[nodiscard]] static bool is_default(const void* native) { return reinterpret_cast<std::uintptr_t>(native) <= 2; }

  [[nodiscard]] EventRecord* find_event(const std::string& call, gpu::NativeEvent event) {
    const auto found = events.find(event);
    if (found != events.end()) return &found->second;
    violate(call + " of an event that does not exist");
    return nullptr;
  }

  /// For calls that may wait or allocate.
  void require_no_capture(const std::string& call) {
    if (captures_open == 0) return;
    const auto mode = capture_modes.find(std::this_thread::get_id());
    if (mode == capture_modes.end() || mode->second != mode_relaxed) violate(call + " breaks the capture");
  }

  void take_memory(int device, std::size_t bytes, const std::string& call) {
    std::size_t& in_use = used[static_cast<std::size_t>(device)];
    if (bytes > capacity - in_use) throw gpu::OutOfMemory(call, out_of_memory, "OUT_OF_MEMORY");
    in_use += bytes;
  }
  void give_memory_back(int device, std::size_t bytes) { used[static_cast<std::size_t>(device)] -= bytes; }

  /// Takes back what was freed in the order of a stream that has got there.
  void reap() {
    std::erase_if(memory, [this](const auto& entry) {
      const Memory& piece = entry.second;
      if (!piece.free_asked || !covers(done, piece.free_after)) return false;
      give_memory_back(piece.device, piece.bytes);
      return true;
    });
  }
  void know_done(const Clock& until) {
    merge(done, until);
    reap();
  }
  void know_all_done() {
    for (const auto& [stream, clock] : clocks) merge(done, clock);
    reap();
  }
  [[nodiscard]] bool is_done(const Use& use) const { return covers(done, use.stream, use.launch); }

  /// Work of a stream uses something.
  void note_use(Use& use, const StreamRecord& stream, const std::string& name) {
    Clock& clock = clocks[stream.id];
    if (stream.capture != 0) {
      if (use.capture != 0 && use.capture != stream.capture) violate(name + " used by two graphs");
      if (use.capture == stream.capture && use.branch != stream.id) violate(name + " used by two branches of a graph");
      if (!is_done(use)) violate(name + " captured while its work is pending");
      use.capture = stream.capture;
      use.branch = stream.id;
      return;
    }
    if (use.capture != 0) violate(name + " used while a captured graph uses it");
    if (use.stream != stream.id && !is_done(use) && !covers(clock, use.stream, use.launch)) {
      violate(name + " used by two streams without order between them");
    }
    use.stream = stream.id;
    use.launch = clock[stream.id];
  }
  void require_unused(const Use& use, const std::string& what) {
    if (use.capture != 0) violate(what + " while a captured graph uses it");
    if (!is_done(use)) violate(what + " while its work is pending");
  }

  [[nodiscard]] Object* find_object(ObjectId id, const std::string& call) {
    if (id == 0 || id > objects.size()) {
      violate(call + " of an object that never was");
      return nullptr;
    }
    Object& object = objects[id - 1];
    if (object.destroyed) violate(call + " of " + object.name + " after its destroy");
    if (contexts.count(object.context) == 0) violate(call + " of " + object.name + " after the loss of its context");
    if (current().id != object.context) {
      violate(call + " of " + object.name + " with context " + std::to_string(current().id) + " current");
    }
    return &object;
  }
  void let_library_switch() {
    if (switch_to.id != 0 && !stack().empty()) stack().back() = switch_to;
  }
};

namespace {

/// Calls the hook with no lock held.
template <class State>
void call_hook(State& state, const std::string& member) {
  std::function<void(const std::string&)> hook;
  {
    const std::lock_guard lock(state.mutex);
    hook = state.hook;
  }
  if (hook) hook(member);
}

}  // namespace

SimulatedDriver::SimulatedDriver(int devices, std::size_t memory_per_device)
    : state_(std::make_unique<State>(devices, memory_per_device)) {}

SimulatedDriver::~SimulatedDriver() = default;

int SimulatedDriver::device_count() { return static_cast<int>(state_->used.size()); }

// --- Contexts --------------------------------------------------------------------------------------------------------

gpu::Context SimulatedDriver::primary_context(int device) {
  call_hook(*state_, "primary_context");
  const std::lock_guard lock(state_->mutex);
  gpu::Context& context = state_->primary[device];
  if (!state_->alive(context)) context = state_->make_context(device);
  return context;
}

gpu::Context SimulatedDriver::current() {
  call_hook(*state_, "current");
  const std::lock_guard lock(state_->mutex);
  return state_->current();
}

bool SimulatedDriver::alive(const gpu::Context& context) noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->alive(context);
}

void SimulatedDriver::push(const gpu::Context& context) {
  call_hook(*state_, "push");
  const std::lock_guard lock(state_->mutex);
  if (!state_->alive(context)) throw gpu::DriverError("push", context_is_destroyed, "CONTEXT_IS_DESTROYED");
  state_->stack().push_back(context);
}

void SimulatedDriver::pop() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->stack().empty()) {
    state_->violate("pop of an empty stack");
  } else {
    state_->stack().pop_back();
  }
}

bool SimulatedDriver::is_current(const gpu::Context& context) noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->current() == context && (context.id == 0 || state_->alive(context));
}

void SimulatedDriver::set_current(const gpu::Context& context) noexcept {
  const std::lock_guard lock(state_->mutex);
  auto& stack = state_->stack();
  if (!stack.empty()) stack.pop_back();
  if (context.id != 0) stack.push_back(context);
}

gpu::Context SimulatedDriver::create_context(int device) {
  const std::lock_guard lock(state_->mutex);
  return state_->make_context(device);
}

void SimulatedDriver::lose_context(const gpu::Context& context) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  const auto found = state.contexts.find(context.id);
  if (found == state.contexts.end()) return;
  state.context_addresses.give_back(found->second.native);
  for (Object& object : state.objects) {
    if (object.context == context.id && !object.destroyed) state.give_memory_back(object.device, object.bytes);
  }
  std::erase_if(state.memory, [&](const auto& entry) {
    if (entry.second.context != context.id) return false;
    state.give_memory_back(entry.second.device, entry.second.bytes);
    return true;
  });
  std::erase_if(state.streams, [&](const auto& entry) {
    if (entry.second.context != context.id) return false;
    state.stream_addresses.give_back(entry.first);
    return true;
  });
  std::erase_if(state.events, [&](const auto& entry) {
    if (entry.second.context != context.id) return false;
    state.event_addresses.give_back(entry.first);
    return true;
  });
  state.contexts.erase(found);
}

std::vector<gpu::Context> SimulatedDriver::stack() {
  const std::lock_guard lock(state_->mutex);
  return state_->stack();
}

// --- Memory ----------------------------------------------------------------------------------------------------------

gpu::MemoryInfo SimulatedDriver::memory() {
  call_hook(*state_, "memory");
  const std::lock_guard lock(state_->mutex);
  const int device = state_->contexts.at(state_->need_context("memory")).device;
  return {.free = state_->capacity - state_->used[static_cast<std::size_t>(device)], .total = state_->capacity};
}

void* SimulatedDriver::allocate(std::size_t bytes) {
  call_hook(*state_, "allocate");
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t context = state_->need_context("allocate");
  state_->require_no_capture("allocate");
  const int device = state_->contexts.at(context).device;
  state_->take_memory(device, bytes, "allocate");
  constexpr std::uintptr_t spacing = std::uintptr_t{1} << 40;  // no two pieces ever have the same address
  void* const address = reinterpret_cast<void*>(++state_->last_memory * spacing);
  state_->memory.emplace(address,
                         Memory{.device = device, .context = context, .bytes = bytes, .use = {}, .free_after = {}});
  return address;
}

void SimulatedDriver::free(void* memory, gpu::Stream stream) noexcept {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->memory.find(memory);
  if (found == state_->memory.end() || found->second.free_asked) {
    state_->violate("free of memory that is not allocated");
    return;
  }
  state_->require_no_capture("free");
  Memory& piece = found->second;
  const StreamRecord* const of = state_->find_stream("free", stream);
  if (of == nullptr) return;
  if (of->capture != 0) state_->violate("free on a stream that captures");
  if (piece.use.capture != 0) state_->violate("free of memory that a captured graph uses");
  const Clock& clock = state_->clocks[of->id];
  if (piece.use.stream != of->id && !state_->is_done(piece.use) && !covers(clock, piece.use.stream, piece.use.launch)) {
    state_->violate("free of memory on a stream that does not come after its use");
  }
  piece.free_asked = true;
  piece.free_after = clock;
  state_->reap();
}

void SimulatedDriver::free_when_idle(void* memory) noexcept {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->memory.find(memory);
  if (found == state_->memory.end() || found->second.free_asked) {
    state_->violate("free of memory that is not allocated");
    return;
  }
  state_->require_no_capture("free_when_idle");
  if (found->second.use.capture != 0) state_->violate("free of memory that a captured graph uses");
  if (state_->current().id != found->second.context) state_->violate("free_when_idle outside the memory's context");
  state_->give_memory_back(found->second.device, found->second.bytes);
  state_->memory.erase(found);
  state_->know_all_done();
}

void SimulatedDriver::wait_until_idle() {
  call_hook(*state_, "wait_until_idle");
  const std::lock_guard lock(state_->mutex);
  (void)state_->need_context("wait_until_idle");
  state_->require_no_capture("wait_until_idle");
  state_->know_all_done();
}

// --- Streams ---------------------------------------------------------------------------------------------------------

bool SimulatedDriver::is_default(gpu::Stream stream) const noexcept { return State::is_default(stream.native()); }

std::uint64_t SimulatedDriver::stream_id(gpu::Stream stream) {
  call_hook(*state_, "stream_id");
  const std::lock_guard lock(state_->mutex);
  const StreamRecord* const found = state_->find_stream("stream_id", stream);
  if (found == nullptr) return 0;
  if (found->capture != 0) state_->violate("stream_id breaks the capture");
  return found->id;
}

std::uint64_t SimulatedDriver::capture_id(gpu::Stream stream) {
  call_hook(*state_, "capture_id");
  const std::lock_guard lock(state_->mutex);
  const StreamRecord* const found = state_->find_stream("capture_id", stream);
  return found == nullptr ? 0 : found->capture;
}

int SimulatedDriver::relax_capture_mode() noexcept {
  const std::lock_guard lock(state_->mutex);
  const auto [mode, added] = state_->capture_modes.emplace(std::this_thread::get_id(), mode_global);
  return std::exchange(mode->second, mode_relaxed);
}

void SimulatedDriver::restore_capture_mode(int mode) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->capture_modes[std::this_thread::get_id()] = mode;
}

gpu::Stream SimulatedDriver::create_stream() {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t context = state_->need_context("create_stream");
  void* const address = state_->stream_addresses.take();
  state_->streams.emplace(address, StreamRecord{.id = ++state_->last_stream, .context = context});
  return {address};
}

void SimulatedDriver::destroy_stream(gpu::Stream stream) {
  const std::lock_guard lock(state_->mutex);
  if (state_->streams.erase(stream.native()) > 0) state_->stream_addresses.give_back(stream.native());
}

void SimulatedDriver::finish(gpu::Stream stream) {
  const std::lock_guard lock(state_->mutex);
  const StreamRecord* const found = state_->find_stream("finish", stream);
  if (found != nullptr) state_->know_done(state_->clocks[found->id]);
}

void SimulatedDriver::begin_capture(gpu::Stream stream) {
  const std::lock_guard lock(state_->mutex);
  StreamRecord* const found = state_->find_stream("begin_capture", stream);
  if (found == nullptr) return;
  found->capture = ++state_->last_capture;
  ++state_->captures_open;
}

void SimulatedDriver::join_capture(gpu::Stream stream, gpu::Stream of) {
  const std::lock_guard lock(state_->mutex);
  StreamRecord* const found = state_->find_stream("join_capture", stream);
  const StreamRecord* const first = state_->find_stream("join_capture", of);
  if (found == nullptr || first == nullptr) return;
  found->capture = first->capture;
  ++state_->captures_open;
}

void SimulatedDriver::end_capture(gpu::Stream stream) {
  const std::lock_guard lock(state_->mutex);
  StreamRecord* const found = state_->find_stream("end_capture", stream);
  if (found == nullptr || std::exchange(found->capture, 0) == 0) return;
  --state_->captures_open;
}

void SimulatedDriver::forget_graphs() {
  const std::lock_guard lock(state_->mutex);
  for (Object& object : state_->objects) object.use.capture = 0;
  for (auto& [address, piece] : state_->memory) piece.use.capture = 0;
}

// --- Events ----------------------------------------------------------------------------------------------------------

gpu::NativeEvent SimulatedDriver::create_event() {
  call_hook(*state_, "create_event");
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t context = state_->need_context("create_event");
  void* const address = state_->event_addresses.take();
  state_->events.emplace(address, EventRecord{.context = context, .clock = {}});
  return address;
}

void SimulatedDriver::destroy_event(gpu::NativeEvent event) {
  call_hook(*state_, "destroy_event");
  const std::lock_guard lock(state_->mutex);
  const EventRecord* const found = state_->find_event("destroy_event", event);
  if (found == nullptr) return;
  if (state_->current().id != found->context) state_->violate("destroy_event outside the event's context");
  state_->events.erase(event);
  state_->event_addresses.give_back(event);
}

void SimulatedDriver::record(gpu::NativeEvent event, gpu::Stream stream) {
  call_hook(*state_, "record");
  const std::lock_guard lock(state_->mutex);
  EventRecord* const found = state_->find_event("record", event);
  const StreamRecord* const on = state_->find_stream("record", stream);
  if (found == nullptr || on == nullptr) return;
  if (found->context != on->context) state_->violate("record of an event on a stream of another context");
  found->capture = on->capture;
  found->clock = state_->clocks[on->id];
}

void SimulatedDriver::wait(gpu::Stream stream, gpu::NativeEvent event) {
  call_hook(*state_, "wait");
  const std::lock_guard lock(state_->mutex);
  const EventRecord* const found = state_->find_event("wait", event);
  const StreamRecord* const on = state_->find_stream("wait", stream);
  if (found == nullptr || on == nullptr) return;
  if (on->capture != found->capture) {
    state_->violate(on->capture != 0 ? "a capture waits for work outside of it" : "wait for an event of a capture");
  }
  if (on->context != found->context) state_->violate("wait for an event of another context");
  merge(state_->clocks[on->id], found->clock);
}

bool SimulatedDriver::done(gpu::NativeEvent event) {
  call_hook(*state_, "done");
  const std::lock_guard lock(state_->mutex);
  state_->require_no_capture("done");
  const EventRecord* const found = state_->find_event("done", event);
  if (found == nullptr) return true;
  if (found->capture != 0) state_->violate("done asked of an event of a capture");
  return covers(state_->done, found->clock);
}

void SimulatedDriver::synchronize(gpu::NativeEvent event) {
  call_hook(*state_, "synchronize");
  const std::lock_guard lock(state_->mutex);
  state_->require_no_capture("synchronize");
  const EventRecord* const found = state_->find_event("synchronize", event);
  if (found == nullptr) return;
  if (found->capture != 0) state_->violate("synchronize with an event of a capture");
  if (state_->current().id != found->context) state_->violate("synchronize outside the event's context");
  state_->know_done(found->clock);
}

// --- Objects ---------------------------------------------------------------------------------------------------------

ObjectId SimulatedDriver::create_object(const std::string& kind, std::size_t bytes) {
  call_hook(*state_, "create_object");
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t context = state_->need_context("create_object");
  state_->require_no_capture("create_object");
  const int device = state_->contexts.at(context).device;
  state_->take_memory(device, bytes, "create_object");
  const ObjectId id = state_->objects.size() + 1;
  state_->objects.push_back({.name = kind + " " + std::to_string(id) + " of context " + std::to_string(context),
                             .context = context,
                             .device = device,
                             .bytes = bytes,
                             .use = {}});
  state_->let_library_switch();
  return id;
}

void SimulatedDriver::touch(ObjectId id, const std::string& call) {
  const std::lock_guard lock(state_->mutex);
  (void)state_->find_object(id, call);
}

void SimulatedDriver::launch(ObjectId id, gpu::Stream stream, const void* work_area) {
  const std::lock_guard lock(state_->mutex);
  Object* const object = state_->find_object(id, "launch");
  const StreamRecord* const on = state_->find_stream("launch", stream);
  if (object == nullptr || on == nullptr) return;
  if (on->context != object->context) state_->violate("launch of " + object->name + " on a stream of another context");
  if (on->capture == 0) ++state_->clocks[on->id][on->id];
  state_->note_use(object->use, *on, object->name);
  if (work_area == nullptr) return;
  const auto area = state_->memory.find(work_area);
  if (area == state_->memory.end() || area->second.free_asked) {
    state_->violate("launch of " + object->name + " with a work area that was freed");
    return;
  }
  if (area->second.context != object->context) {
    state_->violate("launch of " + object->name + " with a work area of another context");
  }
  state_->note_use(area->second.use, *on, "the work area of " + object->name);
}

void SimulatedDriver::destroy_object(ObjectId id) {
  call_hook(*state_, "destroy_object");
  const std::lock_guard lock(state_->mutex);
  state_->require_no_capture("destroy_object");
  Object* const object = state_->find_object(id, "destroy");
  if (object == nullptr || object->destroyed) return;
  state_->require_unused(object->use, "destroy of " + object->name);
  object->destroyed = true;
  ++state_->objects_destroyed;
  if (state_->contexts.count(object->context) > 0) state_->give_memory_back(object->device, object->bytes);
  state_->let_library_switch();
}

void SimulatedDriver::call(const std::string& member) { call_hook(*state_, member); }

void SimulatedDriver::make_library_switch_to(const gpu::Context& context) {
  const std::lock_guard lock(state_->mutex);
  state_->switch_to = context;
}

// --- Faults and findings ---------------------------------------------------------------------------------------------

void SimulatedDriver::set_hook(std::function<void(const std::string& member)> hook) {
  const std::lock_guard lock(state_->mutex);
  state_->hook = std::move(hook);
}

std::vector<std::string> SimulatedDriver::violations() {
  const std::lock_guard lock(state_->mutex);
  return state_->violations;
}

void SimulatedDriver::forget_violations() {
  const std::lock_guard lock(state_->mutex);
  state_->violations.clear();
}

void SimulatedDriver::report(const std::string& violation) {
  const std::lock_guard lock(state_->mutex);
  state_->violate(violation);
}

std::uint64_t SimulatedDriver::objects_created() {
  const std::lock_guard lock(state_->mutex);
  return state_->objects.size();
}

std::uint64_t SimulatedDriver::objects_destroyed() {
  const std::lock_guard lock(state_->mutex);
  return state_->objects_destroyed;
}

std::size_t SimulatedDriver::memory_in_use(int device) {
  const std::lock_guard lock(state_->mutex);
  return state_->used[static_cast<std::size_t>(device)];
}

std::size_t SimulatedDriver::allocations(int device) {
  const std::lock_guard lock(state_->mutex);
  return static_cast<std::size_t>(std::count_if(state_->memory.begin(), state_->memory.end(),
                                                [device](const auto& e) { return e.second.device == device; }));
}

std::uint64_t SimulatedDriver::events_alive() {
  const std::lock_guard lock(state_->mutex);
  return state_->events.size();
}

}  // namespace larder::doubles
