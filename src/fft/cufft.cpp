// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/fft/cufft.hpp>

#include <algorithm>
#include <sstream>
#include <type_traits>
#include <utility>

#include <larder/error.hpp>
#include <larder/gpu/cuda.hpp>
#include <larder/gpu/current_context.hpp>

#include "cufft_library.hpp"
#include "measured_bytes.hpp"
#include "mix.hpp"

namespace larder::fft::cufft {

namespace {

constexpr std::size_t most_dimensions = 3;

[[noreturn]] void reject(const std::string& what) { throw InvalidSpec("cufft: " + what); }

/// @param spec_strides  of that side, as the spec says
/// @param lengths       of the data on that side
/// @param distance      as the spec says; 0 for batch 1
DataLayout layout_of(std::span<const std::int64_t> spec_strides, const std::vector<std::int64_t>& lengths,
                     std::int64_t distance, const char* side) {
  const std::size_t rank = lengths.size();
  std::vector<std::int64_t> strides(spec_strides.begin(), spec_strides.end());
  // A dimension of one element is never stepped along, so its stride may be whatever an embedding needs: as far as the
  // dimension before steps.
  for (std::size_t i = 1; i + 1 < rank; ++i) {
    if (lengths[i] == 1 && lengths[i - 1] > 1) strides[i] = strides[i - 1];
  }
  // With nothing before it that is stepped along: packed.
  for (std::size_t i = rank - 1; i-- > 0;) {
    const bool leading = std::all_of(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     [](std::int64_t length) { return length == 1; });
    if (leading) strides[i] = strides[i + 1] * lengths[i + 1];
  }
  DataLayout layout;
  layout.stride = strides[rank - 1];
  layout.embed[0] = lengths[0];
  for (std::size_t i = 1; i < rank; ++i) {
    if (strides[i - 1] % strides[i] != 0 || strides[i - 1] / strides[i] < lengths[i]) {
      reject(
          std::string(side) + " strides " + std::to_string(strides[i - 1]) + " and " + std::to_string(strides[i]) +
          " of dimensions " + std::to_string(i - 1) + " and " + std::to_string(i) + ", which has " +
          std::to_string(lengths[i]) +
          " elements: cuFFT needs each stride to be a multiple of the next one that is no smaller than the row; copy "
          "the data into such a layout");
    }
    layout.embed[i] = strides[i - 1] / strides[i];
  }
  layout.distance = distance != 0 ? distance : strides[0] * lengths[0];
  return layout;
}

DataLayout packed_layout(const std::vector<std::int64_t>& lengths) {
  DataLayout layout;
  layout.distance = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    layout.embed[i] = lengths[i];
    layout.distance *= lengths[i];
  }
  return layout;
}

bool given(const Callback& callback) { return callback.function != nullptr || !callback.code.empty(); }

void check_callback(const Callback& callback, const char* which) {
  const auto refuse = [which](const char* why) { reject(std::string("the ") + which + " callback " + why); };
  if (callback.function != nullptr && (!callback.code.empty() || !callback.name.empty())) {
    refuse("has a function and also LTO code or a name: give one of the two forms");
  }
  if (callback.code.empty() != callback.name.empty()) refuse("has only one of LTO name and code: give both");
  if (!given(callback) && (callback.caller_info != nullptr || callback.shared_bytes != 0)) {
    refuse("has caller info or shared memory, but neither a function nor LTO code");
  }
}

std::uint64_t mix(std::uint64_t hash, const Callback& callback) noexcept {
  hash = fft::mix(hash, reinterpret_cast<std::uintptr_t>(callback.function));
  hash = fft::mix(hash, std::hash<std::string>{}(callback.name));
  hash = fft::mix(
      hash, std::hash<std::string_view>{}({reinterpret_cast<const char*>(callback.code.data()), callback.code.size()}));
  hash = fft::mix(hash, reinterpret_cast<std::uintptr_t>(callback.caller_info));
  return fft::mix(hash, callback.shared_bytes);
}

gpu::Context context_for(const PlanSpec& spec, gpu::Driver& driver) {
  if (spec.context() != gpu::Context{}) return spec.context();
  const gpu::Context current = driver.current();
  if (current == gpu::Context{}) {
    reject(
        "no device context is current on this thread, and the spec names none: set spec.context, or make one current "
        "(with CUDA's runtime: cudaSetDevice, cudaFree(0))");
  }
  return current;
}

/// What is given to cufftXtMakePlanMany.
struct DataTypes {
  int input;
  int output;
  int execution;
};

DataTypes data_types(Kind kind, Precision precision) {
  const auto [real, complex] = [precision] {
    switch (precision) {
      case Precision::float16: return std::pair(real_float16, complex_float16);
      case Precision::float32: return std::pair(real_float32, complex_float32);
      default: return std::pair(real_float64, complex_float64);
    }
  }();
  return {kind == Kind::r2c ? real : complex, kind == Kind::c2r ? real : complex, complex};
}

int callback_type(const PlanKey& key, bool load) {
  const bool real = key.kind() == (load ? Kind::r2c : Kind::c2r);
  return (load ? callback_load : callback_store) + (real ? callback_real : 0) +
         (key.precision() == Precision::float64 ? callback_double : 0);
}

MeasuredBytes::PlanSize size_of(const PlanKey& key, std::size_t work_size) {
  std::uint64_t element = 0;
  switch (key.precision()) {
    case Precision::float16: element = 2; break;
    case Precision::float32: element = 4; break;
    default: element = 8; break;
  }
  if (key.kind() == Kind::c2c) element *= 2;
  auto elements = static_cast<std::uint64_t>(key.batch());
  for (const std::int64_t length : key.lengths()) elements *= static_cast<std::uint64_t>(length);
  return {elements, elements * element, work_size};
}

/// A plan in the making, destroyed again unless it is taken.
class HalfMade {
 public:
  HalfMade(gpu::Driver& driver, const Library& library, const gpu::Context& context) noexcept
      : driver_(driver), library_(library), context_(context) {}
  ~HalfMade() {
    if (id == no_plan) return;
    come_back();
    (void)library_.destroy(id);
  }
  HalfMade(const HalfMade&) = delete;
  HalfMade& operator=(const HalfMade&) = delete;
  [[nodiscard]] PlanId take() noexcept { return std::exchange(id, no_plan); }
  /// After a call that may have left another context current.
  void come_back() noexcept {
    if (!driver_.is_current(context_)) driver_.set_current(context_);
  }

  PlanId id = no_plan;

 private:
  gpu::Driver& driver_;
  const Library& library_;
  const gpu::Context& context_;
};

struct Made {
  Result result;  ///< the first that is not success
  std::size_t work_size;
};

/// Makes a plan; what was made of it before a failure is left in `plan`.
Made make(const Library& library, const PlanKey& key, HalfMade& plan) {
  std::size_t work_size = 0;
  if (const Result result = library.create(&plan.id); result != success) {
    plan.id = no_plan;
    return {result, 0};
  }
  plan.come_back();
  if (const Result result = library.set_auto_allocation(plan.id, 0); result != success) return {result, 0};

  const auto each_callback = [&key](auto&& use) -> Result {
    if (key.callbacks() == nullptr) return success;
    for (const bool load : {true, false}) {
      const Callback& callback = load ? key.callbacks()->load : key.callbacks()->store;
      if (!given(callback)) continue;
      if (const Result result = use(callback, callback_type(key, load)); result != success) return result;
    }
    return success;
  };
  // LTO callbacks come before the plan is made, the others and the shared memory of both sorts after it (cuFFT's rule).
  Result result = each_callback([&](const Callback& callback, int type) {
    if (callback.code.empty()) return success;
    if (library.set_jit_callback == nullptr) return not_implemented;
    void* caller_info = callback.caller_info;
    return library.set_jit_callback(plan.id, callback.name.c_str(), callback.code.data(), callback.code.size(), type,
                                    &caller_info);
  });
  if (result != success) return {result, 0};

  const auto copied = [](const auto& numbers) {
    std::array<long long, most_dimensions> copy{};
    std::copy(numbers.begin(), numbers.end(), copy.begin());
    return copy;
  };
  auto lengths = copied(key.lengths());
  auto input_embed = copied(key.input().embed);
  auto output_embed = copied(key.output().embed);
  const DataTypes types = data_types(key.kind(), key.precision());
  result = library.make_plan_many(plan.id, static_cast<int>(key.lengths().size()), lengths.data(),
                                  key.packed() ? nullptr : input_embed.data(), key.input().stride, key.input().distance,
                                  types.input, key.packed() ? nullptr : output_embed.data(), key.output().stride,
                                  key.output().distance, types.output, key.batch(), &work_size, types.execution);
  if (result != success) return {result, 0};
  plan.come_back();

  result = each_callback([&](const Callback& callback, int type) {
    if (callback.function != nullptr) {
      void* function = callback.function;
      void* caller_info = callback.caller_info;
      if (const Result set = library.set_callback(plan.id, &function, type, &caller_info); set != success) return set;
    }
    return callback.shared_bytes == 0 ? success
                                      : library.set_callback_shared_size(plan.id, type, callback.shared_bytes);
  });
  return {result, work_size};
}

void check(Result result, const char* call, const PlanKey& key) {
  if (result == success) [[likely]]
    return;
  throw Error(std::string("cufft: ") + call + " failed: " + name_of(result) + " (" + std::to_string(result) +
              "); the plan is " + key.describe());
}

/// What the factories of the process share unless told otherwise.
struct Shared {
  std::shared_ptr<gpu::WorkAreas> areas;
  std::shared_ptr<MeasuredBytes> measured;
};

const Shared& shared() {
  // Never destroyed: caches in static storage use it at exit.
  static const Shared& made =
      *new Shared{std::make_shared<gpu::WorkAreas>(gpu::cuda()), std::make_shared<MeasuredBytes>()};
  return made;
}

}  // namespace

PlanKey::PlanKey(const PlanSpec& spec, Callbacks callbacks)
    : PlanKey(spec, spec.context() != gpu::Context{} ? spec.context() : context_for(spec, gpu::cuda()),
              std::move(callbacks)) {}

PlanKey::PlanKey(const PlanSpec& spec, gpu::Driver& driver, Callbacks callbacks)
    : PlanKey(spec, context_for(spec, driver), std::move(callbacks)) {}

PlanKey::PlanKey(const PlanSpec& spec, const gpu::Context& context, Callbacks&& callbacks)
    : context_(context), kind_(spec.kind()), precision_(spec.precision()), rank_(spec.rank()), batch_(spec.batch()) {
  if (kind_ == Kind::r2r) reject("there are no real-to-real transforms; use c2c, r2c or c2r");
  if (precision_ == Precision::long_double) reject("there is no long double; use float16, float32 or float64");
  if (rank_ > most_dimensions) {
    reject(std::to_string(rank_) + " dimensions, but cuFFT takes at most 3; do the others in transforms of their own");
  }
  if (spec.scale() != 1) {
    reject("scale is " + std::to_string(spec.scale()) + ", but cuFFT does not scale; scale the result yourself");
  }
  std::copy(spec.lengths().begin(), spec.lengths().end(), lengths_.begin());
  const std::vector<std::int64_t> input_lengths = spec.input_lengths();
  const std::vector<std::int64_t> output_lengths = spec.output_lengths();
  input_ = layout_of(spec.input_strides(), input_lengths, spec.input_distance(), "input");
  output_ = layout_of(spec.output_strides(), output_lengths, spec.output_distance(), "output");
  packed_ = input_ == packed_layout(input_lengths) && output_ == packed_layout(output_lengths);

  check_callback(callbacks.load, "load");
  check_callback(callbacks.store, "store");
  if (given(callbacks.load) || given(callbacks.store)) {
    callbacks_ = std::make_shared<const Callbacks>(std::move(callbacks));
  }
  hash_ = compute_hash();
}

std::uint64_t PlanKey::compute_hash() const noexcept {
  std::uint64_t hash = context_.id;
  const auto add = [&hash](auto value) { hash = fft::mix(hash, static_cast<std::uint64_t>(value)); };
  add(kind_);
  add(precision_);
  add(rank_);
  add(batch_);
  for (const std::int64_t length : lengths()) add(length);
  for (const DataLayout* side : {&input_, &output_}) {
    for (const std::int64_t embed : side->embed) add(embed);
    add(side->stride);
    add(side->distance);
  }
  if (callbacks_ != nullptr) hash = mix(mix(hash, callbacks_->load), callbacks_->store);
  return hash;
}

bool PlanKey::fits_in_place() const noexcept {
  if (kind_ == Kind::c2c) return input_ == output_;
  // A complex element takes the room of two real ones; only the innermost stride counts elements on both sides.
  const DataLayout& real = kind_ == Kind::r2c ? input_ : output_;
  const DataLayout& complex = kind_ == Kind::r2c ? output_ : input_;
  if (lengths_[rank_ - 1] > 1 && real.stride != complex.stride) return false;
  std::int64_t real_step = real.stride;
  std::int64_t complex_step = complex.stride;
  for (std::size_t i = rank_ - 1; i > 0; --i) {
    real_step *= real.embed[i];
    complex_step *= complex.embed[i];
    if (lengths_[i - 1] > 1 && real_step != 2 * complex_step) return false;
  }
  return batch_ == 1 || real.distance == 2 * complex.distance;
}

std::string PlanKey::describe() const {
  std::ostringstream out;
  const auto joined = [this, &out](const std::array<std::int64_t, 3>& numbers) {
    for (std::size_t i = 0; i < rank_; ++i) out << (i > 0 ? "x" : "") << numbers[i];
  };
  const auto layout = [this, &out, &joined](const DataLayout& side) {
    joined(side.embed);
    out << " stride " << side.stride;
    if (batch_ > 1) out << " distance " << side.distance;
  };
  out << to_string(kind_) << ' ';
  joined(lengths_);
  out << ' ' << to_string(precision_);
  if (batch_ > 1) out << " batch " << batch_;
  if (packed_) {
    out << " packed";
  } else {
    out << " in ";
    layout(input_);
    out << " -> ";
    layout(output_);
  }
  if (callbacks_ != nullptr) {
    const auto name = [&out](const char* which, const Callback& callback) {
      if (!given(callback)) return;
      out << ' ' << which << " callback ";
      if (callback.function != nullptr) {
        out << callback.function;
      } else {
        out << callback.name;
      }
    };
    name("load", callbacks_->load);
    name("store", callbacks_->store);
  }
  out << " context " << context_.id;
  return out.str();
}

PlanFactory::PlanFactory(const FactoryOptions& options)
    : PlanFactory(gpu::cuda(), library(),
                  options.allocator == nullptr ? shared().areas
                                               : std::make_shared<gpu::WorkAreas>(gpu::cuda(), options.allocator),
                  shared().measured) {}

PlanFactory::PlanFactory(gpu::Driver& driver, const Library& library, std::shared_ptr<gpu::WorkAreas> areas)
    : PlanFactory(driver, library, std::move(areas), std::make_shared<MeasuredBytes>()) {}

PlanFactory::PlanFactory(gpu::Driver& driver, const Library& library, std::shared_ptr<gpu::WorkAreas> areas,
                         std::shared_ptr<MeasuredBytes> measured)
    : StreamOrdered(driver), library_(&library), areas_(std::move(areas)), measured_(std::move(measured)) {}

Plan PlanFactory::create(const PlanKey& key) {
  MeasuredBytes::Build build(*measured_, key.context().id, driver().memory().free);
  HalfMade half(driver(), *library_, key.context());
  const Made made = make(*library_, key, half);
  half.come_back();
  if (made.result != success) {
    if (retryable(made.result)) areas_->trim();
    throw BuildFailed("cufft", made.result, name_of(made.result), key.describe(),
                      retryable(made.result) ? Retry::after_reclaim : Retry::no);
  }
  const std::size_t bytes = build.done(driver().memory().free, size_of(key, made.work_size));
  Plan plan(driver(), *library_, half.take(), key.callbacks());
  plan.work_size_ = made.work_size;
  plan.bytes_ = bytes;
  return plan;
}

void PlanFactory::destroy(const PlanKey& key, Plan plan) {
  // A lease that is discarded ends without reset.
  reset(key, plan);
  measured_->destroyed(key.context().id);
  check(library_->destroy(plan.id_), "cufftDestroy", key);
}

void PlanFactory::prepare(const PlanKey& key, Plan& plan, gpu::Stream stream, StreamState state) {
  const bool moves = state.id != plan.stream_id_;
  if (!moves && (plan.work_size_ == 0 || gpu::WorkAreas::reenter(plan.area_))) [[likely]] {
    plan.in_area_ = plan.work_size_ != 0;
    return;
  }
  const gpu::CurrentContext inside = enter(key);
  if (moves) {
    check(library_->set_stream(plan.id_, stream.native()), "cufftSetStream", key);
    plan.stream_id_ = state.id;
  }
  if (plan.work_size_ == 0) return;
  plan.area_ = areas_->enter(key.context(), stream, state, plan.work_size_);
  plan.in_area_ = true;
  check(library_->set_work_area(plan.id_, plan.area_.memory()), "cufftSetWorkArea", key);
}

void PlanFactory::reset(const PlanKey&, Plan& plan) noexcept {
  if (std::exchange(plan.in_area_, false)) areas_->leave(plan.area_);
}

struct Execution {
  const Library& library;
  PlanId plan;
  const PlanKey& key;
  gpu::CurrentContext inside;

  /// Checks what can be checked without the arrays' types.
  static Execution of(const Lease<PlanFactory>& lease, const void* in, const void* out) {
    if (!lease) throw InvalidArgument("cufft: execute: the lease is empty");
    const PlanKey& key = lease.key();
    if (in == nullptr || out == nullptr) refuse(key, "an array is null");
    if (in == out && !key.fits_in_place()) {
      refuse(key,
             "input and output are one array, but its layout is for two; make the key from a spec that is in place");
    }
    return {*lease->library_, *lease, key, {*lease->driver_, key.context()}};
  }

  template <class Real>
  static Execution of(const Lease<PlanFactory>& lease, Kind kind, const void* in, const void* out) {
    constexpr Precision precision = std::is_same_v<Real, float> ? Precision::float32 : Precision::float64;
    if (lease) {
      const PlanKey& key = lease.key();
      if (key.kind() != kind) refuse(key, std::string("the arrays are for ") + to_string(kind));
      if (key.precision() != precision) refuse(key, std::string("the arrays are ") + to_string(precision));
    }
    return of(lease, in, out);
  }

  [[noreturn]] static void refuse(const PlanKey& key, const std::string& why) {
    throw InvalidArgument("cufft: execute: " + why + "; the plan is " + key.describe());
  }
};

namespace {

constexpr int sign_of(Direction direction) { return direction == Direction::forward ? forward : inverse; }

}  // namespace

template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, std::complex<Real>* out, Direction direction) {
  const auto run = Execution::of<Real>(plan, Kind::c2c, in, out);
  if constexpr (std::is_same_v<Real, float>) {
    check(run.library.exec_c2c(run.plan, in, out, sign_of(direction)), "cufftExecC2C", run.key);
  } else {
    check(run.library.exec_z2z(run.plan, in, out, sign_of(direction)), "cufftExecZ2Z", run.key);
  }
}

template <class Real>
void execute(const Lease<PlanFactory>& plan, Real* in, std::complex<Real>* out) {
  const auto run = Execution::of<Real>(plan, Kind::r2c, in, out);
  if constexpr (std::is_same_v<Real, float>) {
    check(run.library.exec_r2c(run.plan, in, out), "cufftExecR2C", run.key);
  } else {
    check(run.library.exec_d2z(run.plan, in, out), "cufftExecD2Z", run.key);
  }
}

template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, Real* out) {
  const auto run = Execution::of<Real>(plan, Kind::c2r, in, out);
  if constexpr (std::is_same_v<Real, float>) {
    check(run.library.exec_c2r(run.plan, in, out), "cufftExecC2R", run.key);
  } else {
    check(run.library.exec_z2d(run.plan, in, out), "cufftExecZ2D", run.key);
  }
}

void execute_untyped(const Lease<PlanFactory>& plan, void* in, void* out, Direction direction) {
  const auto run = Execution::of(plan, in, out);
  check(run.library.exec(run.plan, in, out, sign_of(direction)), "cufftXtExec", run.key);
}

template void execute<float>(const Lease<PlanFactory>&, std::complex<float>*, std::complex<float>*, Direction);
template void execute<float>(const Lease<PlanFactory>&, float*, std::complex<float>*);
template void execute<float>(const Lease<PlanFactory>&, std::complex<float>*, float*);
template void execute<double>(const Lease<PlanFactory>&, std::complex<double>*, std::complex<double>*, Direction);
template void execute<double>(const Lease<PlanFactory>&, double*, std::complex<double>*);
template void execute<double>(const Lease<PlanFactory>&, std::complex<double>*, double*);

}  // namespace larder::fft::cufft
