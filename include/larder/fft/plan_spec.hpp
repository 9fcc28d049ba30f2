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
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <utility>
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

  [[nodiscard]] std::size_t rank() const noexcept { return fields_.rank; }
  [[nodiscard]] std::span<const std::int64_t> lengths() const noexcept { return {numbers(), rank()}; }
  [[nodiscard]] std::span<const std::int64_t> input_strides() const noexcept { return {numbers() + rank(), rank()}; }
  [[nodiscard]] std::span<const std::int64_t> output_strides() const noexcept {
    return {numbers() + 2 * rank(), rank()};
  }
  [[nodiscard]] std::int64_t input_distance() const noexcept { return fields_.input_distance; }    ///< 0 for batch 1
  [[nodiscard]] std::int64_t output_distance() const noexcept { return fields_.output_distance; }  ///< 0 for batch 1
  [[nodiscard]] std::int64_t batch() const noexcept { return fields_.batch; }
  [[nodiscard]] Kind kind() const noexcept { return fields_.kind; }
  [[nodiscard]] Direction direction() const noexcept { return fields_.direction; }
  [[nodiscard]] Precision precision() const noexcept { return fields_.precision; }
  [[nodiscard]] Placement placement() const noexcept { return fields_.placement; }
  [[nodiscard]] const std::vector<RealKind>& real_kinds() const noexcept { return real_kinds_; }
  [[nodiscard]] double scale() const noexcept { return fields_.scale; }
  [[nodiscard]] const gpu::Context& context() const noexcept { return fields_.context; }

  /// Lengths of the data on that side: the last one is n / 2 + 1 on the complex side of r2c and c2r.
  [[nodiscard]] std::vector<std::int64_t> input_lengths() const;
  [[nodiscard]] std::vector<std::int64_t> output_lengths() const;
  /// Elements from the first to behind the last one on that side, gaps included.
  [[nodiscard]] std::int64_t input_extent() const;
  [[nodiscard]] std::int64_t output_extent() const;

  [[nodiscard]] std::uint64_t hash() const noexcept { return fields_.hash; }
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const PlanSpec& a, const PlanSpec& b) noexcept {
    return same_first_half(a.fields_, b.fields_) && (a.fields_.half_is_all || a.same_rest(b));
  }

 private:
  static constexpr std::size_t inline_rank = 3;
  static constexpr std::size_t half = 64;  // bytes; a cache line

  /// Equal specs have equal bytes up to `hash`: there is no padding, what is unused is 0, and a scale, neither 0 nor NaN, has
  /// one representation. Where both sides are packed, strides and distances follow from the first half.
  struct alignas(16) Fields {
    Kind kind = Kind::c2c;
    Direction direction = Direction::forward;
    Precision precision = Precision::float64;
    Placement placement = Placement::out_of_place;
    bool half_is_all = false;
    std::uint8_t unused = 0;
    std::uint16_t rank = 0;
    std::int64_t batch = 1;
    double scale = 1;
    gpu::Context context;
    std::array<std::int64_t, 3 * inline_rank> numbers{};  // lengths, input strides, output strides
    std::int64_t input_distance = 0;
    std::int64_t output_distance = 0;
    std::uint64_t hash = 0;
  };
  static_assert(offsetof(Fields, numbers) + inline_rank * sizeof(std::int64_t) == half &&
                offsetof(Fields, hash) == 2 * half);
  using Block [[gnu::vector_size(16)]] = std::uint64_t;

  // Part of every hit: without a branch, a loop or a call.
  [[nodiscard]] static bool same_first_half(const Fields& a, const Fields& b) noexcept {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      const Block different = ((block(a, i) ^ block(b, i)) | ...);
      return (different[0] | different[1]) == 0;
    }
    (std::make_index_sequence<half / sizeof(Block)>());
  }
  [[nodiscard]] static Block block(const Fields& fields, std::size_t i) noexcept {
    Block value;
    std::memcpy(&value, reinterpret_cast<const unsigned char*>(&fields) + i * sizeof(value), sizeof(value));
    return value;
  }
  [[nodiscard]] bool same_rest(const PlanSpec& other) const noexcept;

  [[nodiscard]] const std::int64_t* numbers() const noexcept {
    return rank() <= inline_rank ? fields_.numbers.data() : more_.data();
  }
  void set_numbers(const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& input_strides,
                   const std::vector<std::int64_t>& output_strides);
  [[nodiscard]] std::uint64_t compute_hash() const noexcept;

  Fields fields_;
  std::vector<std::int64_t> more_;  // the numbers of a higher rank
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
