// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/fft/fftw.hpp>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include <larder/error.hpp>

#include "fftw_library.hpp"
#include "mix.hpp"

namespace larder::fft::fftw {

namespace {

/// The planner flags of the manual; FFTW_MEASURE is 0.
constexpr std::array<std::pair<unsigned, const char*>, 8> flag_names{{
    {FFTW_ESTIMATE, "estimate"},
    {FFTW_PATIENT, "patient"},
    {FFTW_EXHAUSTIVE, "exhaustive"},
    {FFTW_PRESERVE_INPUT, "preserve_input"},
    {FFTW_DESTROY_INPUT, "destroy_input"},
    {FFTW_UNALIGNED, "unaligned"},
    {FFTW_WISDOM_ONLY, "wisdom_only"},
    {FFTW_CONSERVE_MEMORY, "conserve_memory"},
}};
constexpr unsigned known_flags = std::accumulate(flag_names.begin(), flag_names.end(), 0U,
                                                 [](unsigned flags, const auto& entry) { return flags | entry.first; });

BuildDomain& planner_domain() {
  static BuildDomain& domain = *new BuildDomain;  // never destroyed: caches in static storage use it at exit
  return domain;
}

/// Calls do_it with a value of the C++ type of that precision.
template <class DoIt>
decltype(auto) with_real(Precision precision, DoIt&& do_it) {
  switch (precision) {
    case Precision::float32: return do_it(float{});
    case Precision::float64: return do_it(double{});
    case Precision::long_double: return do_it(0.0L);
    case Precision::float16: break;
  }
  throw InvalidSpec("fftw: there is no half precision; use float32, float64 or long_double");
}

template <class Real>
Precision precision_of() {
  if constexpr (std::is_same_v<Real, float>) {
    return Precision::float32;
  } else if constexpr (std::is_same_v<Real, double>) {
    return Precision::float64;
  } else {
    return Precision::long_double;
  }
}

/// FFTW's worker threads do not exist in a forked child, but its list of them does.
std::atomic<bool> forked{false};

void start_threads() {
  // Before any other planner call: FFTW starts from scratch when its threads are first used after plans were made.
  static const bool started = [] {
    const std::lock_guard<BuildDomain> alone(planner_domain());
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
    for (const Precision precision : {Precision::float32, Precision::float64, Precision::long_double}) {
      with_real(precision, [](auto real) {
        using Fftw = Library<decltype(real)>;
        if (Fftw::init_threads() == 0) throw BackendUnavailable("fftw: its threads library failed to initialise");
        Fftw::make_planner_thread_safe();
      });
    }
    return true;
  }();
  (void)started;
}

int alignment_of(Precision precision, const void* array) {
  return with_real(precision, [array](auto real) {
    // FFTW takes the pointer without const but only looks at its value.
    return Library<decltype(real)>::alignment_of(static_cast<decltype(real)*>(const_cast<void*>(array)));
  });
}

constexpr std::size_t alignment = 64;

/// An array for the planner, of the alignment class that the key says.
class Scratch {
 public:
  Scratch(std::size_t bytes, int alignment_class)
      : memory_(std::aligned_alloc(alignment,
                                   (bytes + static_cast<std::size_t>(alignment_class) + alignment) & ~(alignment - 1))),
        offset_(static_cast<std::size_t>(alignment_class)) {
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  [[nodiscard]] void* data() const noexcept { return static_cast<std::byte*>(memory_.get()) + offset_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t offset_;
};

std::size_t estimate_bytes(const PlanSpec& spec) noexcept {
  constexpr std::size_t per_plan = 4096;
  static constexpr std::size_t per_element = 16;
  static constexpr std::size_t enough = std::size_t{1} << 60;  // keeps the sum of absurd lengths from overflowing
  const auto lengths = spec.lengths();
  return std::accumulate(lengths.begin(), lengths.end(), per_plan, [](std::size_t sum, std::int64_t length) {
    return std::min(sum + per_element * std::min(static_cast<std::size_t>(length), enough / per_element), enough);
  });
}

template <class Real>
typename Library<Real>::Plan make_plan(const PlanKey& key, void* in, void* out) {
  using Fftw = Library<Real>;
  using Dimension = typename Fftw::Dimension;
  const PlanSpec& spec = key.spec();
  std::vector<Dimension> dimensions(spec.rank());
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    dimensions[i] = {spec.lengths()[i], spec.input_strides()[i], spec.output_strides()[i]};
  }
  const Dimension batch{spec.batch(), spec.input_distance(), spec.output_distance()};
  const int rank = static_cast<int>(dimensions.size());
  const int batch_rank = spec.batch() > 1 ? 1 : 0;
  auto* const real_in = static_cast<Real*>(in);
  auto* const real_out = static_cast<Real*>(out);
  auto* const complex_in = static_cast<typename Fftw::Complex*>(in);
  auto* const complex_out = static_cast<typename Fftw::Complex*>(out);
  switch (spec.kind()) {
    case Kind::c2c:
      return Fftw::plan_c2c(rank, dimensions.data(), batch_rank, &batch, complex_in, complex_out,
                            spec.direction() == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD, key.flags());
    case Kind::r2c:
      return Fftw::plan_r2c(rank, dimensions.data(), batch_rank, &batch, real_in, complex_out, key.flags());
    case Kind::c2r:
      return Fftw::plan_c2r(rank, dimensions.data(), batch_rank, &batch, complex_in, real_out, key.flags());
    case Kind::r2r: {
      static constexpr std::array kinds{FFTW_R2HC,    FFTW_HC2R,    FFTW_DHT,     FFTW_REDFT00,
                                        FFTW_REDFT01, FFTW_REDFT10, FFTW_REDFT11, FFTW_RODFT00,
                                        FFTW_RODFT01, FFTW_RODFT10, FFTW_RODFT11};
      std::vector<fftw_r2r_kind> real_kinds;
      for (const RealKind kind : spec.real_kinds()) real_kinds.push_back(kinds[static_cast<std::size_t>(kind)]);
      return Fftw::plan_r2r(rank, dimensions.data(), batch_rank, &batch, real_in, real_out, real_kinds.data(),
                            key.flags());
    }
  }
  return nullptr;
}

template <class Real>
Plan create_in(const PlanKey& key) {
  using Fftw = Library<Real>;
  const PlanSpec& spec = key.spec();
  const bool complex_in = spec.kind() == Kind::c2c || spec.kind() == Kind::c2r;
  const bool complex_out = spec.kind() == Kind::c2c || spec.kind() == Kind::r2c;
  const std::size_t in_bytes = static_cast<std::size_t>(spec.input_extent()) * sizeof(Real) * (complex_in ? 2 : 1);
  const std::size_t out_bytes = static_cast<std::size_t>(spec.output_extent()) * sizeof(Real) * (complex_out ? 2 : 1);
  const bool in_place = spec.placement() == Placement::in_place;
  const int threads = forked.load(std::memory_order_relaxed) ? 1 : key.threads();

  typename Fftw::Plan plan = nullptr;
  {
    const Scratch in(in_place ? std::max(in_bytes, out_bytes) : in_bytes, key.input_alignment());
    std::optional<Scratch> out;
    if (!in_place) out.emplace(out_bytes, key.output_alignment());

    // Global planner state is set for this plan only; FFTW tells the number of threads, but not the time limit.
    struct PlannerState {
      int threads_before = Fftw::planner_nthreads();
      ~PlannerState() {
        Fftw::plan_with_nthreads(threads_before);
        Fftw::set_timelimit(FFTW_NO_TIMELIMIT);
      }
    } const restored_afterwards;
    Fftw::plan_with_nthreads(threads);
    Fftw::set_timelimit(key.time_limit() ? std::chrono::duration<double>(*key.time_limit()).count()
                                         : FFTW_NO_TIMELIMIT);
    plan = make_plan<Real>(key, in.data(), in_place ? in.data() : out->data());
  }
  if (plan == nullptr) {
    const bool wisdom_only = (key.flags() & FFTW_WISDOM_ONLY) != 0;
    throw BuildFailed("fftw", 0, wisdom_only ? "no wisdom for this plan (FFTW_WISDOM_ONLY)" : "no such plan (NULL)",
                      key.describe());
  }
  return {plan, estimate_bytes(spec), threads};
}

[[noreturn]] void refuse(const PlanKey& key, const std::string& why) {
  throw InvalidArgument("fftw: execute: " + why + "; the plan is " + key.describe());
}

template <class Real>
typename Library<Real>::Plan checked(const Lease<PlanFactory>& lease, Kind kind, const void* in, const void* out) {
  if (!lease) throw InvalidArgument("fftw: execute: the lease is empty");
  const PlanKey& key = lease.key();
  const PlanSpec& spec = key.spec();
  if (spec.kind() != kind) refuse(key, std::string("the arrays are for ") + to_string(kind));
  if (spec.precision() != precision_of<Real>())
    refuse(key, std::string("the arrays are ") + to_string(precision_of<Real>()));
  if (in == nullptr || out == nullptr) refuse(key, "an array is null");
  if (lease->threads > 1 && forked.load(std::memory_order_relaxed)) {
    refuse(key, "its threads stayed in the parent process: acquire it again after fork");
  }
  if ((in == out) != (spec.placement() == Placement::in_place)) {
    refuse(key, in == out ? "input and output are one array" : "input and output are different arrays");
  }
  if ((key.flags() & FFTW_UNALIGNED) == 0) {
    const int in_class = alignment_of(spec.precision(), in);
    const int out_class = alignment_of(spec.precision(), out);
    if (in_class != key.input_alignment() || out_class != key.output_alignment()) {
      refuse(key, "the arrays' addresses are " + std::to_string(in_class) + " and " + std::to_string(out_class) +
                      " bytes past the alignment: acquire with PlanKey::for_arrays, or plan with FFTW_UNALIGNED");
    }
  }
  return static_cast<typename Library<Real>::Plan>(lease->plan);
}

template <class Real>
typename Library<Real>::Complex* fftw_array(std::complex<Real>* array) noexcept {
  return reinterpret_cast<typename Library<Real>::Complex*>(array);
}

}  // namespace

PlanKey::PlanKey(PlanSpec spec, const PlanOptions& options) : PlanKey(std::move(spec), options, 0, 0) {}

PlanKey::PlanKey(PlanSpec spec, const PlanOptions& options, int input_alignment, int output_alignment)
    : spec_(std::move(spec)),
      flags_(options.flags),
      threads_(options.threads),
      input_alignment_((options.flags & FFTW_UNALIGNED) != 0 ? 0 : input_alignment),
      output_alignment_((options.flags & FFTW_UNALIGNED) != 0 ? 0 : output_alignment),
      time_limit_(options.time_limit) {
  if (spec_.precision() == Precision::float16) {
    throw InvalidSpec("fftw: there is no half precision; use float32, float64 or long_double");
  }
  if (spec_.scale() != 1) {
    throw InvalidSpec("fftw: scale is " + std::to_string(spec_.scale()) +
                      ", but FFTW does not scale; scale the result yourself");
  }
  if (spec_.context() != gpu::Context{}) throw InvalidSpec("fftw: a plan for the host has no device context");
  if ((flags_ & ~known_flags) != 0) {
    throw InvalidSpec("fftw: flags " + std::to_string(flags_) +
                      " holds bits that are not FFTW's documented planner flags");
  }
  if ((flags_ & FFTW_PRESERVE_INPUT) != 0 && (flags_ & FFTW_DESTROY_INPUT) != 0) {
    throw InvalidSpec("fftw: flags asks both to preserve and to destroy the input");
  }
  if (threads_ < 1) throw InvalidSpec("fftw: threads is " + std::to_string(threads_) + ", must be at least 1");
  if (time_limit_ && time_limit_->count() < 0) {
    throw InvalidSpec("fftw: time_limit is " + std::to_string(time_limit_->count()) + " ns, must not be negative");
  }
  hash_ = spec_.hash();
  for (const auto value : {static_cast<std::uint64_t>(flags_), static_cast<std::uint64_t>(threads_),
                           static_cast<std::uint64_t>(input_alignment_), static_cast<std::uint64_t>(output_alignment_),
                           time_limit_ ? static_cast<std::uint64_t>(time_limit_->count()) + 1 : 0}) {
    hash_ = mix(hash_, value);
  }
}

PlanKey PlanKey::for_arrays(PlanSpec spec, const void* in, const void* out, const PlanOptions& options) {
  if ((in == out) != (spec.placement() == Placement::in_place)) {
    throw InvalidSpec(std::string("fftw: input and output are ") + (in == out ? "one array" : "different arrays") +
                      ", but the plan is to be " + spec.describe());
  }
  const int input_alignment = alignment_of(spec.precision(), in);
  const int output_alignment = alignment_of(spec.precision(), out);
  return {std::move(spec), options, input_alignment, output_alignment};
}

std::string PlanKey::describe() const {
  std::ostringstream out;
  out << spec_.describe();
  if ((flags_ & (FFTW_ESTIMATE | FFTW_PATIENT | FFTW_EXHAUSTIVE)) == 0) out << " measure";
  for (const auto& [flag, name] : flag_names) {
    if ((flags_ & flag) != 0) out << ' ' << name;
  }
  if ((flags_ & FFTW_UNALIGNED) == 0) out << " alignment " << input_alignment_ << " -> " << output_alignment_;
  if (threads_ > 1) out << " threads " << threads_;
  if (time_limit_) out << " time limit " << time_limit_->count() << " ns";
  return out.str();
}

PlanFactory::PlanFactory() { start_threads(); }

BuildDomain& PlanFactory::domain() const { return planner_domain(); }

Plan PlanFactory::create(const PlanKey& key) {
  return with_real(key.spec().precision(), [&key](auto real) { return create_in<decltype(real)>(key); });
}

void PlanFactory::destroy(const PlanKey& key, Plan plan) {
  with_real(key.spec().precision(), [&plan](auto real) {
    using Fftw = Library<decltype(real)>;
    Fftw::destroy_plan(static_cast<typename Fftw::Plan>(plan.plan));
  });
}

template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, std::complex<Real>* out) {
  Library<Real>::execute_c2c(checked<Real>(plan, Kind::c2c, in, out), fftw_array(in), fftw_array(out));
}

template <class Real>
void execute(const Lease<PlanFactory>& plan, Real* in, std::complex<Real>* out) {
  Library<Real>::execute_r2c(checked<Real>(plan, Kind::r2c, in, out), in, fftw_array(out));
}

template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, Real* out) {
  Library<Real>::execute_c2r(checked<Real>(plan, Kind::c2r, in, out), fftw_array(in), out);
}

template <class Real>
  requires std::floating_point<Real>
void execute(const Lease<PlanFactory>& plan, Real* in, Real* out) {
  Library<Real>::execute_r2r(checked<Real>(plan, Kind::r2r, in, out), in, out);
}

// A type cannot be put in parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define LARDER_FFTW_EXECUTE(REAL)                                                                   \
  template void execute<REAL>(const Lease<PlanFactory>&, std::complex<REAL>*, std::complex<REAL>*); \
  template void execute<REAL>(const Lease<PlanFactory>&, REAL*, std::complex<REAL>*);               \
  template void execute<REAL>(const Lease<PlanFactory>&, std::complex<REAL>*, REAL*);               \
  template void execute<REAL>(const Lease<PlanFactory>&, REAL*, REAL*);

LARDER_FFTW_EXECUTE(float)
LARDER_FFTW_EXECUTE(double)
LARDER_FFTW_EXECUTE(long double)

#undef LARDER_FFTW_EXECUTE
// NOLINTEND(bugprone-macro-parentheses)

void import_wisdom(Precision precision, const std::filesystem::path& file) {
  start_threads();
  errno = 0;
  if (std::filesystem::is_directory(file)) {
    throw InvalidArgument("fftw: wisdom file '" + file.string() + "' is a directory");
  }
  if (!std::ifstream(file)) {
    throw InvalidArgument("fftw: wisdom file '" + file.string() + "' cannot be read: " + std::strerror(errno));
  }
  const bool imported = with_real(precision, [&file](auto real) {
    const std::lock_guard<BuildDomain> alone(planner_domain());
    return Library<decltype(real)>::import_wisdom(file.c_str()) != 0;
  });
  if (!imported) {
    throw InvalidArgument(
        "fftw: '" + file.string() + "' holds no " + to_string(precision) +
        " wisdom that this FFTW accepts: wrong precision or version, or made without fftw_init_threads");
  }
}

void export_wisdom(Precision precision, const std::filesystem::path& file) {
  start_threads();
  errno = 0;
  const bool exported = with_real(precision, [&file](auto real) {
    const std::lock_guard<BuildDomain> alone(planner_domain());
    return Library<decltype(real)>::export_wisdom(file.c_str()) != 0;
  });
  if (!exported) {
    throw InvalidArgument("fftw: wisdom file '" + file.string() + "' cannot be written: " + std::strerror(errno));
  }
}

}  // namespace larder::fft::fftw
