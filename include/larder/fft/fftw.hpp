// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FFTW plans as handles of a cache, in single, double and long double precision.
//
//   using namespace larder::fft;
//   fftw::PlanCache plans;                                    // at most 64 idle plans
//   auto plan = plans.acquire(fftw::PlanKey::for_arrays(PlanSpec::c2c({1024}), in, out));
//   fftw::execute(plan, in, out);
//
// Plans are shared: FFTW's new-array execute functions may run one plan in many threads at once, on arrays of the
// placement and alignment the plan was made for ("New-array Execute Functions" in the FFTW manual); execute() checks both.
// Planning works on scratch arrays and never touches the user's data. Create and destroy of all precisions are serialised
// in one build domain, and FFTW's planner is made thread-safe, so other users of FFTW in the process may plan beside it.
// larder never calls fftw_cleanup, which would leave everybody's plans undefined.
//
// This header and larder::fftw link FFTW, which is under the GPL.
#pragma once

#include <fftw3.h>

#include <chrono>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <larder/fft/plan_spec.hpp>
#include <larder/handle_cache.hpp>

namespace larder::fft::fftw {

/// What FFTW's planner takes beside the transform.
struct PlanOptions {
  /// FFTW's planner flags: rigor, FFTW_PRESERVE_INPUT, FFTW_DESTROY_INPUT, FFTW_UNALIGNED, FFTW_WISDOM_ONLY,
  /// FFTW_CONSERVE_MEMORY. FFTW_UNALIGNED serves any alignment, and executes several times slower.
  unsigned flags = FFTW_ESTIMATE;
  int threads = 1;  ///< that execute the plan; always one in a forked child, see PlanFactory::create
  /// Planning time after which FFTW takes the best plan so far; rounded to nanoseconds. Default: no limit.
  std::optional<std::chrono::nanoseconds> time_limit = std::nullopt;
};

/// Everything that decides whether a plan can serve a request: the transform, FFTW's options and the arrays' alignment.
class PlanKey {
 public:
  /// For arrays that are aligned as fftw_malloc and operator new align them (16 bytes).
  /// @throws InvalidSpec for what FFTW cannot do: half precision, a scale, a device context, unknown flags, threads < 1
  explicit PlanKey(PlanSpec spec, const PlanOptions& options = {});

  /// For these arrays: takes their alignment.
  /// @throws InvalidSpec as the constructor, and when the arrays are not placed as the spec says
  static PlanKey for_arrays(PlanSpec spec, const void* in, const void* out, const PlanOptions& options = {});

  [[nodiscard]] const PlanSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] int threads() const noexcept { return threads_; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> time_limit() const noexcept { return time_limit_; }
  /// fftw_alignment_of the arrays: 0 to 15, always 0 with FFTW_UNALIGNED.
  [[nodiscard]] int input_alignment() const noexcept { return input_alignment_; }
  [[nodiscard]] int output_alignment() const noexcept { return output_alignment_; }

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const PlanKey& a, const PlanKey& b) noexcept {
    return a.hash_ == b.hash_ && a.flags_ == b.flags_ && a.threads_ == b.threads_ && a.time_limit_ == b.time_limit_ &&
           a.input_alignment_ == b.input_alignment_ && a.output_alignment_ == b.output_alignment_ && a.spec_ == b.spec_;
  }

 private:
  PlanKey(PlanSpec spec, const PlanOptions& options, int input_alignment, int output_alignment);

  std::uint64_t hash_ = 0;
  PlanSpec spec_;
  unsigned flags_;
  int threads_;
  int input_alignment_;
  int output_alignment_;
  std::optional<std::chrono::nanoseconds> time_limit_;
};

/// A plan of the precision that its key says.
struct Plan {
  void* plan = nullptr;   ///< fftwf_plan, fftw_plan or fftwl_plan
  std::size_t bytes = 0;  ///< estimated, see PlanFactory::bytes
  int threads = 1;        ///< that it was planned with

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace larder::fft::fftw

template <>
struct std::hash<larder::fft::fftw::PlanKey> {
  std::size_t operator()(const larder::fft::fftw::PlanKey& key) const noexcept { return key.hash(); }
};

template <>
struct std::hash<larder::fft::fftw::Plan> {
  std::size_t operator()(const larder::fft::fftw::Plan& plan) const noexcept { return std::hash<void*>{}(plan.plan); }
};

namespace larder::fft::fftw {

/// Makes FFTW plans; see HandleFactory.
class PlanFactory {
 public:
  using Key = PlanKey;
  using Handle = Plan;
  static constexpr Sharing sharing = Sharing::shared;
  static constexpr Budget default_budget{.max_idle = 64};
  static constexpr bool bytes_fixed = true;

  /// Starts FFTW's threads in all precisions and makes its planner thread-safe, once per process.
  /// Wisdom that was imported before that may not be found afterwards (FFTW's rule): make the cache first.
  PlanFactory();

  /// Plans on scratch arrays. Sets FFTW's process-wide time limit for the time of the call and clears it afterwards (FFTW
  /// does not tell what it was); the process-wide number of threads is put back.
  /// In a forked child every plan is made for one thread, whatever its key says: FFTW's worker threads stayed in the
  /// parent, and a plan that waits for them never ends.
  /// @throws BuildFailed when FFTW has no such plan, or (FFTW_WISDOM_ONLY) no wisdom for it
  /// @throws std::bad_alloc when there is no memory for the scratch arrays
  Plan create(const PlanKey& key);
  void destroy(const PlanKey& key, Plan plan);

  /// FFTW tells no size, so it is estimated: 4 KiB and 16 bytes per element of the lengths' sum. 6000 plans of lengths 16 to
  /// 12014 take 560 MiB and are estimated at 574 MiB; long powers of two take less, short primes more. (glibc's mallinfo2
  /// would measure it, but it walks the heap: with 4000 plans kept it made planning 10 times slower.)
  std::size_t bytes(const PlanKey&, const Plan& plan) const { return plan.bytes; }
  std::string describe(const PlanKey& key) const { return key.describe(); }

  /// Held around every planner call: one for all precisions and caches of the process.
  BuildDomain& domain() const;
};

using PlanCache = HandleCache<PlanFactory>;

/// Runs a plan on these arrays; Real is float, double or long double.
///
/// Safe from many threads at once, on different arrays. An out-of-place c2r destroys its input unless the plan was made
/// with FFTW_PRESERVE_INPUT (one dimension only, FFTW's rule).
/// @throws InvalidArgument, and runs nothing, when the lease is empty, the arrays do not match the plan's kind, precision,
/// placement or alignment, or a plan of several threads was leased before the fork that made this process
template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, std::complex<Real>* out);  // c2c
template <class Real>
void execute(const Lease<PlanFactory>& plan, Real* in, std::complex<Real>* out);  // r2c
template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, Real* out);  // c2r
template <class Real>
  requires std::floating_point<Real>
void execute(const Lease<PlanFactory>& plan, Real* in, Real* out);  // r2r

/// The same for arrays of fftwf_complex, fftw_complex and fftwl_complex.
template <std::floating_point Real>
void execute(const Lease<PlanFactory>& plan, Real (*in)[2], Real (*out)[2]) {
  execute(plan, reinterpret_cast<std::complex<Real>*>(in), reinterpret_cast<std::complex<Real>*>(out));
}
template <std::floating_point Real>
void execute(const Lease<PlanFactory>& plan, Real* in, Real (*out)[2]) {
  execute(plan, in, reinterpret_cast<std::complex<Real>*>(out));
}
template <std::floating_point Real>
void execute(const Lease<PlanFactory>& plan, Real (*in)[2], Real* out) {
  execute(plan, reinterpret_cast<std::complex<Real>*>(in), out);
}

/// Adds the wisdom of a file to what FFTW knows in that precision.
///
/// @throws InvalidArgument when the file cannot be read or holds no wisdom of that precision and FFTW version. Wisdom
/// made by a program that did not start FFTW's threads is not accepted either (FFTW's rule).
void import_wisdom(Precision precision, const std::filesystem::path& file);

/// Writes what FFTW knows in that precision.
/// @throws InvalidArgument when the file cannot be written
void export_wisdom(Precision precision, const std::filesystem::path& file);

}  // namespace larder::fft::fftw
