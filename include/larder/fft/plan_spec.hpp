// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PlanSpec: one description of a Fourier transform for every back end.
//
// Made once from PlanParameters, then immutable: validated, normalised so that equal requests are equal keys, and hashed.
// The normal form is a stride per dimension and a distance between transforms, per side. It does not matter whether a
// packed layout was given or left out, what the first entry of an embedding is once the distance is given, nor how far
// apart the elements of a dimension of one element would be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include <larder/gpu/context.hpp>

namespace larder::fft {

enum class Kind : std::uint8_t { c2c, r2c, c2r, r2r };
enum class Direction : std::uint8_t { forward, backward };
enum class Precision : std::uint8_t { float16, float32, float64, long_double };
enum class Placement : std::uint8_t { out_of_place, in_place };

/// Real-to-real transforms, one per dimension, by the names of the FFTW manual ("Real-to-Real Transform Kinds").
enum class RealKind : std::uint8_t {
  r2hc,
  hc2r,
  dht,
  redft00,
  redft01,
  redft10,
  redft11,
  rodft00,
  rodft01,
  rodft10,
  rodft11
};

/// Where the elements of one side lie, in elements of that side's type. All left out: packed, row-major.
struct Layout {
  /// One per dimension, in place of `embed` and `stride`.
  std::vector<std::int64_t> strides = {};
  /// Lengths of the array that the transform lies in, one per dimension; the first only serves a distance left out.
  std::vector<std::int64_t> embed = {};
  /// Between elements of the last dimension.
  std::int64_t stride = 1;
  /// Between the first elements of two transforms of a batch; 0: one array after the other (not with `strides`).
  std::int64_t distance = 0;
};

/// What the user asks for; a PlanSpec is what it means.
struct PlanParameters {
  std::vector<std::int64_t> lengths = {};  ///< elements per dimension, slowest first; for r2c and c2r of the real side
  Kind kind = Kind::c2c;
  Direction direction = Direction::forward;  ///< c2c only
  Precision precision = Precision::float64;
  Placement placement = Placement::out_of_place;
  std::int64_t batch = 1;
  Layout input = {};
  Layout output = {};
  std::vector<RealKind> real_kinds = {};  ///< r2r only, one per dimension
  double scale = 1;                       ///< multiplies the result, where the back end can
  gpu::Context context = {};              ///< default: the host
};

/// A valid transform in normal form; a value type, cheap to compare and to hash.
class PlanSpec {
 public:
  /// @throws InvalidSpec naming the field and its value: no dimension, a length, batch, stride or distance below 1, an
  /// embedding smaller than the transform, sizes that overflow 64 bits, sides that cannot share one array in place,
  /// real kinds that do not fit, a scale that is 0 or not finite
  explicit PlanSpec(const PlanParameters& parameters);

  /// A packed complex transform.
  /// @throws InvalidSpec
  static PlanSpec c2c(std::initializer_list<std::int64_t> lengths, Direction direction = Direction::forward,
                      Precision precision = Precision::float64);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::span<const std::int64_t> lengths() const noexcept { return {numbers(), rank_}; }
  [[nodiscard]] std::span<const std::int64_t> input_strides() const noexcept { return {numbers() + rank_, rank_}; }
  [[nodiscard]] std::span<const std::int64_t> output_strides() const noexcept { return {numbers() + 2 * rank_, rank_}; }
  [[nodiscard]] std::int64_t input_distance() const noexcept { return input_distance_; }    ///< 0 for batch 1
  [[nodiscard]] std::int64_t output_distance() const noexcept { return output_distance_; }  ///< 0 for batch 1
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  [[nodiscard]] Placement placement() const noexcept { return placement_; }
  [[nodiscard]] const std::vector<RealKind>& real_kinds() const noexcept { return real_kinds_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] const gpu::Context& context() const noexcept { return context_; }

  /// Lengths of the data on that side: the last one is n / 2 + 1 on the complex side of r2c and c2r.
  [[nodiscard]] std::vector<std::int64_t> input_lengths() const;
  [[nodiscard]] std::vector<std::int64_t> output_lengths() const;
  /// Elements from the first to behind the last one on that side, gaps included.
  [[nodiscard]] std::int64_t input_extent() const;
  [[nodiscard]] std::int64_t output_extent() const;

  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const PlanSpec& a, const PlanSpec& b) noexcept {
    return a.hash_ == b.hash_ && a.rank_ == b.rank_ && a.kind_ == b.kind_ && a.direction_ == b.direction_ &&
           a.precision_ == b.precision_ && a.placement_ == b.placement_ && a.batch_ == b.batch_ &&
           a.input_distance_ == b.input_distance_ && a.output_distance_ == b.output_distance_ && a.scale_ == b.scale_ &&
           a.context_ == b.context_ && a.same_numbers(b);
  }

 private:
  static constexpr std::size_t inline_rank = 3;

  [[nodiscard]] const std::int64_t* numbers() const noexcept {
    return rank_ <= inline_rank ? inline_.data() : more_.data();
  }
  [[nodiscard]] bool same_numbers(const PlanSpec& other) const noexcept;
  void set_numbers(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& input_strides,
                   const std::vector<std::int64_t>& output_strides);
  [[nodiscard]] std::uint64_t compute_hash() const noexcept;

  std::uint64_t hash_ = 0;
  std::size_t rank_ = 0;
  Kind kind_ = Kind::c2c;
  Direction direction_ = Direction::forward;
  Precision precision_ = Precision::float64;
  Placement placement_ = Placement::out_of_place;
  std::int64_t batch_ = 1;
  std::int64_t input_distance_ = 0;
  std::int64_t output_distance_ = 0;
  double scale_ = 1;
  gpu::Context context_;
  std::array<std::int64_t, 3 * inline_rank> inline_{};  // lengths, input strides, output strides
  std::vector<std::int64_t> more_;                      // the same for a higher rank
  std::vector<RealKind> real_kinds_;
};

std::ostream& operator<<(std::ostream& out, const PlanSpec& spec);

[[nodiscard]] const char* to_string(Kind kind) noexcept;
[[nodiscard]] const char* to_string(RealKind kind) noexcept;
[[nodiscard]] const char* to_string(Precision precision) noexcept;

}  // namespace larder::fft

template <>
struct std::hash<larder::fft::PlanSpec> {
  std::size_t operator()(const larder::fft::PlanSpec& spec) const noexcept { return spec.hash(); }
};
