// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuFFT plans as handles of a cache.
//
//   using namespace larder::fft;
//   cufft::PlanCache plans;                                                  // at most 64 idle plans
//   const PlanSpec spec({.lengths = {1024}, .precision = Precision::float32});
//   auto plan = plans.acquire(cufft::PlanKey(spec), stream);
//   cufft::execute(plan, in, out, Direction::forward);                       // or cufftExecC2C(*plan, ...)
//
// cuFFT is loaded at run time: a program that includes this builds and starts without CUDA. A plan is exclusive, as it
// carries the stream and the work area that it runs with. Plans are made without a work area of their own; a lease gets
// that of its stream, which all plans on the stream share (gpu/work_areas.hpp). Work that is given to the plan must go to
// the lease's stream before the lease ends, by the thread that uses the lease.
//
// A plan serves both directions, and any arrays of its layout. So these are not in the key: the direction, the placement
// (but the padding that it brings is: in place, the real rows of r2c and c2r are longer), the stream, the work area.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <larder/fft/plan_spec.hpp>
#include <larder/gpu/allocator.hpp>
#include <larder/gpu/context.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/gpu/stream.hpp>
#include <larder/gpu/stream_ordered.hpp>
#include <larder/gpu/work_areas.hpp>
#include <larder/handle_cache.hpp>

namespace larder::fft {
class MeasuredBytes;
}  // namespace larder::fft

namespace larder::fft::cufft {

struct Library;

/// A function on the device that cuFFT calls for each element that it loads or stores; none unless one is given.
///
/// Either a legacy callback (`function`) or an LTO callback (`name` and `code`). The type that cuFFT wants to know follows
/// from the plan's kind and precision. Callbacks are compared by value, the code by its bytes.
struct Callback {
  void* function = nullptr;  ///< device function pointer, as copied from the device; only with CUDA's static cuFFT
  std::string name = {};     ///< symbol of the LTO callback
  std::vector<std::byte> code = {};  ///< its LTO-IR, from nvcc or NVRTC
  void* caller_info = nullptr;       ///< on the device, passed to the callback; must outlive the cache
  std::size_t shared_bytes = 0;      ///< shared memory that the callback needs, in bytes

  friend bool operator==(const Callback&, const Callback&) = default;
};

/// The callbacks of a plan.
struct Callbacks {
  Callback load = {};
  Callback store = {};

  friend bool operator==(const Callbacks&, const Callbacks&) = default;
};

/// Where the elements of one side lie, as cuFFT's "advanced data layout" says it.
struct DataLayout {
  std::array<std::int64_t, 3> embed{};  ///< one per dimension; the first only serves cuFFT's checks
  std::int64_t stride = 1;              ///< between elements of the last dimension
  std::int64_t distance = 0;            ///< between the first elements of two transforms of a batch

  friend bool operator==(const DataLayout&, const DataLayout&) = default;
};

/// Everything that decides whether a plan can serve a request; a value type, cheap to compare, copy and hash.
class PlanKey {
 public:
  /// For the spec's context, or if it has none, for the calling thread's current CUDA context.
  ///
  /// @throws InvalidSpec for what cuFFT cannot do: real-to-real, long double, a scale, more than 3 dimensions, strides that
  /// no embedding and one stride give; callbacks that are of both sorts or half given; and when there is no context
  /// @throws BackendUnavailable when the current context is needed and there is no CUDA driver
  explicit PlanKey(const PlanSpec& spec, Callbacks callbacks = {});
  /// The same with the contexts of that driver.
  PlanKey(const PlanSpec& spec, gpu::Driver& driver, Callbacks callbacks = {});

  [[nodiscard]] const gpu::Context& context() const noexcept { return context_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  [[nodiscard]] std::span<const std::int64_t> lengths() const noexcept { return {lengths_.data(), rank_}; }
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  [[nodiscard]] const DataLayout& input() const noexcept { return input_; }
  [[nodiscard]] const DataLayout& output() const noexcept { return output_; }
  /// Whether both sides lie without gaps, row by row; cuFFT is then told no layout.
  [[nodiscard]] bool packed() const noexcept { return packed_; }
  /// Whether input and output may be one array.
  [[nodiscard]] bool fits_in_place() const noexcept;
  /// Null when there are none.
  [[nodiscard]] const std::shared_ptr<const Callbacks>& callbacks() const noexcept { return callbacks_; }

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const PlanKey& a, const PlanKey& b) noexcept {
    return a.hash_ == b.hash_ && a.context_ == b.context_ && a.kind_ == b.kind_ && a.precision_ == b.precision_ &&
           a.rank_ == b.rank_ && a.lengths_ == b.lengths_ && a.batch_ == b.batch_ && a.input_ == b.input_ &&
           a.output_ == b.output_ && a.same_callbacks(b);
  }

 private:
  PlanKey(const PlanSpec& spec, const gpu::Context& context, Callbacks&& callbacks);

  [[nodiscard]] bool same_callbacks(const PlanKey& other) const noexcept {
    if (callbacks_ == other.callbacks_) return true;
    return callbacks_ != nullptr && other.callbacks_ != nullptr && *callbacks_ == *other.callbacks_;
  }
  [[nodiscard]] std::uint64_t compute_hash() const noexcept;

  std::uint64_t hash_ = 0;
  gpu::Context context_;
  Kind kind_;
  Precision precision_;
  bool packed_ = false;
  std::size_t rank_;
  std::int64_t batch_;
  std::array<std::int64_t, 3> lengths_{};
  DataLayout input_;
  DataLayout output_;
  std::shared_ptr<const Callbacks> callbacks_;
};

/// A plan; converts to cufftHandle, so it goes to cuFFT's functions as it is.
///
/// The lease has set its stream and work area: leave them, and cufftDestroy, alone.
class Plan {
 public:
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  operator int() const noexcept { return id_; }  // NOLINT(google-explicit-constructor): the vendor's type
  /// Of the work area that it runs with, in bytes.
  [[nodiscard]] std::size_t work_size() const noexcept { return work_size_; }

 private:
  friend class PlanFactory;
  friend struct Execution;

  Plan(gpu::Driver& driver, const Library& library, int id, std::shared_ptr<const Callbacks> callbacks) noexcept
      : driver_(&driver), library_(&library), callbacks_(std::move(callbacks)), id_(id) {}

  gpu::Driver* driver_;
  const Library* library_;
  std::shared_ptr<const Callbacks>
      callbacks_;  // cuFFT may read an LTO callback's name and code as long as the plan lives
  int id_;
  std::size_t work_size_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t stream_id_ = 0;  // of the stream that is set; 0: none yet
  gpu::WorkAreaRef area_;        // that it entered last, for that stream
  bool in_area_ = false;         // entered and not left
};

}  // namespace larder::fft::cufft

template <>
struct std::hash<larder::fft::cufft::PlanKey> {
  std::size_t operator()(const larder::fft::cufft::PlanKey& key) const noexcept { return key.hash(); }
};

namespace larder::fft::cufft {

/// Where a factory takes things from.
struct FactoryOptions {
  /// Source of work areas, which must outlive the cache and its leases; default: the driver's own stream-ordered memory,
  /// from areas that all caches of the process share.
  gpu::Allocator* allocator = nullptr;
};

/// Makes cuFFT plans; see HandleFactory.
class PlanFactory : public gpu::StreamOrdered<PlanKey> {
 public:
  using Key = PlanKey;
  using Handle = Plan;
  static constexpr Budget default_budget{.max_idle = 64};
  static constexpr bool bytes_fixed = true;

  /// With the CUDA driver and the cuFFT of this machine: libcufft.so, or the library that LARDER_CUFFT_LIBRARY names.
  /// @throws BackendUnavailable when one of them is missing; a later call tries again
  PlanFactory() : PlanFactory(FactoryOptions{}) {}
  explicit PlanFactory(const FactoryOptions& options);
  /// With these, which must outlive the cache and its leases.
  PlanFactory(gpu::Driver& driver, const Library& library, std::shared_ptr<gpu::WorkAreas> areas);

  /// Plans without a work area. When cuFFT's result may mean that memory is short, unused work areas are given up, so that
  /// the cache's second try finds it.
  /// @throws BuildFailed with cuFFT's result; nothing of the plan is left
  /// @throws gpu::DriverError when the device does not tell its free memory
  Plan create(const PlanKey& key);
  /// @throws Error when cuFFT fails to
  void destroy(const PlanKey& key, Plan plan);

  /// Sets the stream, and the work area of that stream, where they changed.
  /// @throws what the allocator throws; gpu::DriverError; Error with cuFFT's result
  void prepare(const PlanKey& key, Plan& plan, gpu::Stream stream, StreamState state);
  /// Leaves the work area.
  void reset(const PlanKey& key, Plan& plan) noexcept;
  /// The context is gone, and its work areas with it.
  void invalidate(const gpu::Context& context) noexcept { areas_->invalidate(context); }

  /// Device memory that the plan holds without its work area: smoothed over similar plans, at least 48 KiB. It is the fall
  /// of the device's free memory around the creation, but the device hands memory out in chunks of 2 MiB that many small
  /// plans share, so no single plan can be measured; the sum over 100 plans is a tenth more than what they take, give
  /// or take some 15 %.
  /// Wrong while other programs allocate on the device, and no more than a few MiB for long.
  [[nodiscard]] std::size_t bytes(const PlanKey&, const Plan& plan) const noexcept { return plan.bytes_; }
  [[nodiscard]] std::string describe(const PlanKey& key) const { return key.describe(); }

  /// The work areas that leases of these plans use; release_captured() after the graphs' end.
  [[nodiscard]] gpu::WorkAreas& work_areas() const noexcept { return *areas_; }

 private:
  PlanFactory(gpu::Driver& driver, const Library& library, std::shared_ptr<gpu::WorkAreas> areas,
              std::shared_ptr<MeasuredBytes> measured);

  const Library* library_;
  std::shared_ptr<gpu::WorkAreas> areas_;
  std::shared_ptr<MeasuredBytes> measured_;
};

using PlanCache = HandleCache<PlanFactory>;

/// Runs a plan on these device arrays, on the stream of the lease; Real is float or double. Returns before it is done.
///
/// Distinct leases may be used at once. An out-of-place c2r may overwrite its input (cuFFT's rule).
/// @throws InvalidArgument, and runs nothing, when the lease is empty, an array is null, the arrays do not match the plan's
/// kind or precision, or are one array that the plan's layout does not fit into
/// @throws Error with cuFFT's result
template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, std::complex<Real>* out,
             Direction direction);  // c2c
template <class Real>
void execute(const Lease<PlanFactory>& plan, Real* in, std::complex<Real>* out);  // r2c
template <class Real>
void execute(const Lease<PlanFactory>& plan, std::complex<Real>* in, Real* out);  // c2r

/// The same for arrays of any type, which are not checked to match the plan: half precision, cufftComplex, torch tensors.
/// The direction only matters for c2c.
void execute_untyped(const Lease<PlanFactory>& plan, void* in, void* out, Direction direction = Direction::forward);

}  // namespace larder::fft::cufft
