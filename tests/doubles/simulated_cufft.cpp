// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "doubles/simulated_cufft.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace larder::doubles {

namespace {

using fft::cufft::Library;
using fft::cufft::Result;

enum : Result { success = 0, invalid_plan = 1, alloc_failed = 2, invalid_value = 4, invalid_size = 8 };

constexpr std::size_t kib = 1024;

struct Callback {
  CallbackCall call;
  const char* name = nullptr;  // where an LTO callback's name and code are
  const void* code = nullptr;
};

struct Plan {
  gpu::Context context;
  bool auto_allocation = true;
  bool made = false;
  ObjectId object = 0;
  std::size_t work_size = 0;
  std::optional<void*> stream;
  void* work_area = nullptr;
  std::vector<Callback> callbacks;
};

bool is_smooth(std::uint64_t length) {
  for (const std::uint64_t factor : {2U, 3U, 5U, 7U}) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

}  // namespace

struct SimulatedCufft::State {
  explicit State(SimulatedDriver& simulated) : driver(simulated) {}

  SimulatedDriver& driver;
  Library library;
  mutable std::mutex mutex;  // guards what follows; never held in a call of the driver
  std::map<int, Plan> plans;
  std::map<std::string, std::uint64_t> calls;
  std::vector<std::string> history;
  std::map<std::string, std::map<std::uint64_t, int>> failures;
  std::vector<MakePlanCall> made;
  std::vector<int> directions;
  std::uint64_t plans_made = 0;
  std::uint64_t plans_destroyed = 0;
  bool forbidden = false;

  void report(const std::string& what) const { driver.report("cufft: " + what); }

  /// Counts the call; the result that it is scripted to fail with, if any.
  Result enter(const std::string& function) {
    bool wrong = false;
    Result result = success;
    {
      const std::lock_guard lock(mutex);
      wrong = forbidden;
      history.push_back(function);
      const std::uint64_t nth = ++calls[function];
      const auto scripted = failures[function].find(nth);
      if (scripted != failures[function].end()) result = scripted->second;
    }
    if (wrong) report(function + " was called in a library that has gone");
    return result;
  }

  /// The plan, after the checks that every call makes; nullptr when the number is none. One thread uses a plan at a time.
  Plan* use(int id, const std::string& function) {
    Plan* plan = nullptr;
    {
      const std::lock_guard lock(mutex);
      const auto found = plans.find(id);
      if (found != plans.end()) plan = &found->second;
    }
    if (plan == nullptr) {
      report(function + " of " + std::to_string(id) + ", which is no plan");
      return nullptr;
    }
    if (!(driver.current() == plan->context)) report(function + " outside the plan's context");
    if (plan->made) driver.touch(plan->object, function);
    for (const Callback& callback : plan->callbacks) {
      if (callback.code == nullptr) continue;
      if (callback.name != callback.call.name ||
          std::memcmp(callback.code, callback.call.code.data(), callback.call.code.size()) != 0) {
        report(function + ": the plan's LTO callback has changed or is gone");
      }
    }
    return plan;
  }
};

namespace {

SimulatedCufft::State* instance = nullptr;

Result get_version(int* version) {
  *version = 12000;
  return instance->enter("cufftGetVersion");
}

Result create(int* id) {
  if (const Result failed = instance->enter("cufftCreate"); failed != success) return failed;
  Plan plan;
  plan.context = instance->driver.current();
  if (plan.context == gpu::Context{}) instance->report("cufftCreate without a context");
  const std::lock_guard lock(instance->mutex);
  *id = 0;
  while (instance->plans.contains(*id)) ++*id;
  instance->plans.emplace(*id, std::move(plan));
  return success;
}

Result destroy(int id) {
  const Result failed = instance->enter("cufftDestroy");
  Plan* const plan = instance->use(id, "cufftDestroy");
  if (plan == nullptr) return invalid_plan;
  if (plan->made) instance->driver.destroy_object(plan->object);
  const std::lock_guard lock(instance->mutex);
  if (plan->made) ++instance->plans_destroyed;
  instance->plans.erase(id);
  return failed;
}

Result set_auto_allocation(int id, int on) {
  if (const Result failed = instance->enter("cufftSetAutoAllocation"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftSetAutoAllocation");
  if (plan == nullptr) return invalid_plan;
  if (plan->made) instance->report("cufftSetAutoAllocation after the plan was made");
  plan->auto_allocation = on != 0;
  return success;
}

Result make_plan_many(int id, int rank, long long* lengths, long long* input_embed, long long input_stride,
                      long long input_distance, int input_type, long long* output_embed, long long output_stride,
                      long long output_distance, int output_type, long long batch, std::size_t* work_size,
                      int execution_type) {
  if (const Result failed = instance->enter("cufftXtMakePlanMany"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftXtMakePlanMany");
  if (plan == nullptr) return invalid_plan;
  if (plan->made) {
    instance->report("cufftXtMakePlanMany of a plan that is made");
    return invalid_plan;
  }
  if (plan->auto_allocation) instance->report("a plan with a work area of its own");
  if (rank < 1 || rank > 3) return invalid_value;

  MakePlanCall call;
  call.lengths.assign(lengths, lengths + rank);
  if (input_embed != nullptr) call.input_embed.emplace(input_embed, input_embed + rank);
  if (output_embed != nullptr) call.output_embed.emplace(output_embed, output_embed + rank);
  call.input_stride = input_stride;
  call.input_distance = input_distance;
  call.input_type = input_type;
  call.output_stride = output_stride;
  call.output_distance = output_distance;
  call.output_type = output_type;
  call.batch = batch;
  call.execution_type = execution_type;

  std::size_t elements = static_cast<std::size_t>(batch);
  bool smooth = true;
  for (const long long length : call.lengths) {
    if (length < 1) return invalid_size;
    elements *= static_cast<std::size_t>(length);
    smooth = smooth && is_smooth(static_cast<std::uint64_t>(length));
  }
  const std::size_t array = elements * (execution_type == 5 ? 16U : execution_type == 4 ? 8U : 4U);
  const std::size_t held = smooth ? 50 * kib : 16 * kib + array * 33 / 10;
  plan->work_size = smooth ? (elements >= 65536 ? array : 0) : (elements >= 4096 ? 3 * array : 0);
  try {
    plan->object = instance->driver.create_object("cufft plan", held);
  } catch (const gpu::OutOfMemory&) {
    return alloc_failed;
  }
  plan->made = true;
  *work_size = plan->work_size;
  const std::lock_guard lock(instance->mutex);
  ++instance->plans_made;
  instance->made.push_back(std::move(call));
  return success;
}

Result set_stream(int id, void* stream) {
  if (const Result failed = instance->enter("cufftSetStream"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftSetStream");
  if (plan == nullptr) return invalid_plan;
  plan->stream = stream;
  return success;
}

Result set_work_area(int id, void* memory) {
  if (const Result failed = instance->enter("cufftSetWorkArea"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftSetWorkArea");
  if (plan == nullptr) return invalid_plan;
  if (memory == nullptr) {
    instance->report("cufftSetWorkArea to nothing");
    return invalid_value;
  }
  if (plan->work_size == 0) instance->report("cufftSetWorkArea of a plan that needs none");
  if (plan->work_area == memory) instance->report("cufftSetWorkArea to what it is already");
  plan->work_area = memory;
  return success;
}

Result set_callback(int id, void** functions, int type, void** caller_infos) {
  if (const Result failed = instance->enter("cufftXtSetCallback"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftXtSetCallback");
  if (plan == nullptr) return invalid_plan;
  if (!plan->made) instance->report("cufftXtSetCallback before the plan was made");
  if (functions == nullptr || *functions == nullptr || caller_infos == nullptr) return invalid_value;
  plan->callbacks.push_back({.call = {type, *functions, "", "", *caller_infos}});
  return success;
}

Result set_callback_shared_size(int id, int type, std::size_t bytes) {
  if (const Result failed = instance->enter("cufftXtSetCallbackSharedSize"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftXtSetCallbackSharedSize");
  if (plan == nullptr) return invalid_plan;
  const auto found = std::find_if(plan->callbacks.begin(), plan->callbacks.end(),
                                  [type](const Callback& callback) { return callback.call.type == type; });
  if (!plan->made || found == plan->callbacks.end()) {
    instance->report("cufftXtSetCallbackSharedSize without that callback");
    return invalid_value;
  }
  found->call.shared_bytes = bytes;
  return success;
}

Result set_jit_callback(int id, const char* name, const void* code, std::size_t bytes, int type, void** caller_infos) {
  if (const Result failed = instance->enter("cufftXtSetJITCallback"); failed != success) return failed;
  Plan* const plan = instance->use(id, "cufftXtSetJITCallback");
  if (plan == nullptr) return invalid_plan;
  if (plan->made) instance->report("cufftXtSetJITCallback after the plan was made");
  if (caller_infos == nullptr) return invalid_value;
  const std::string bytes_of_code(static_cast<const char*>(code), bytes);
  plan->callbacks.push_back({.call = {type, nullptr, name, bytes_of_code, *caller_infos}, .name = name, .code = code});
  return success;
}

Result execute(const char* function, int id) {
  if (const Result failed = instance->enter(function); failed != success) return failed;
  Plan* const plan = instance->use(id, function);
  if (plan == nullptr) return invalid_plan;
  if (!plan->made) {
    instance->report(std::string(function) + " of a plan that is not made");
    return invalid_plan;
  }
  if (!plan->stream) instance->report(std::string(function) + " without a stream");
  if (plan->work_size > 0 && plan->work_area == nullptr) {
    instance->report(std::string(function) + " without a work area");
    return success;
  }
  instance->driver.launch(plan->object, gpu::Stream(plan->stream.value_or(nullptr)),
                          plan->work_size > 0 ? plan->work_area : nullptr);
  return success;
}

Result execute(const char* function, int id, int direction) {
  {
    const std::lock_guard lock(instance->mutex);
    instance->directions.push_back(direction);
  }
  return execute(function, id);
}

Result exec_c2c(int id, void*, void*, int direction) { return execute("cufftExecC2C", id, direction); }
Result exec_r2c(int id, void*, void*) { return execute("cufftExecR2C", id); }
Result exec_c2r(int id, void*, void*) { return execute("cufftExecC2R", id); }
Result exec_z2z(int id, void*, void*, int direction) { return execute("cufftExecZ2Z", id, direction); }
Result exec_d2z(int id, void*, void*) { return execute("cufftExecD2Z", id); }
Result exec_z2d(int id, void*, void*) { return execute("cufftExecZ2D", id); }
Result exec(int id, void*, void*, int direction) { return execute("cufftXtExec", id, direction); }

}  // namespace

SimulatedCufft::SimulatedCufft(SimulatedDriver& driver) : state_(std::make_unique<State>(driver)) {
  instance = state_.get();
  state_->library = {.path = "simulated",
                     .get_version = get_version,
                     .create = create,
                     .destroy = destroy,
                     .set_auto_allocation = set_auto_allocation,
                     .make_plan_many = make_plan_many,
                     .set_stream = set_stream,
                     .set_work_area = set_work_area,
                     .set_callback = set_callback,
                     .set_callback_shared_size = set_callback_shared_size,
                     .set_jit_callback = set_jit_callback,
                     .exec_c2c = exec_c2c,
                     .exec_r2c = exec_r2c,
                     .exec_c2r = exec_c2r,
                     .exec_z2z = exec_z2z,
                     .exec_d2z = exec_d2z,
                     .exec_z2d = exec_z2d,
                     .exec = exec};
}

SimulatedCufft::~SimulatedCufft() { instance = nullptr; }

const Library& SimulatedCufft::library() const noexcept { return state_->library; }

void SimulatedCufft::remove_jit_callbacks() noexcept { state_->library.set_jit_callback = nullptr; }

void SimulatedCufft::fail(const std::string& function, int result, int nth) {
  const std::lock_guard lock(state_->mutex);
  state_->failures[function][state_->calls[function] + static_cast<std::uint64_t>(nth)] = result;
}

void SimulatedCufft::forbid_calls() {
  const std::lock_guard lock(state_->mutex);
  state_->forbidden = true;
}

std::uint64_t SimulatedCufft::calls(const std::string& function) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->calls.find(function);
  return found == state_->calls.end() ? 0 : found->second;
}

std::vector<std::string> SimulatedCufft::history() const {
  const std::lock_guard lock(state_->mutex);
  return state_->history;
}

std::vector<MakePlanCall> SimulatedCufft::made() const {
  const std::lock_guard lock(state_->mutex);
  return state_->made;
}

std::vector<CallbackCall> SimulatedCufft::callbacks_of(int plan) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<CallbackCall> calls;
  for (const Callback& callback : state_->plans.at(plan).callbacks) calls.push_back(callback.call);
  return calls;
}

std::vector<int> SimulatedCufft::directions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->directions;
}

std::uint64_t SimulatedCufft::open() const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans.size();
}

std::uint64_t SimulatedCufft::plans_made() const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans_made;
}

std::uint64_t SimulatedCufft::plans_destroyed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans_destroyed;
}

void* SimulatedCufft::stream_of(int plan) const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans.at(plan).stream.value_or(nullptr);
}

void* SimulatedCufft::work_area_of(int plan) const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans.at(plan).work_area;
}

gpu::Context SimulatedCufft::context_of(int plan) const {
  const std::lock_guard lock(state_->mutex);
  return state_->plans.at(plan).context;
}

}  // namespace larder::doubles
