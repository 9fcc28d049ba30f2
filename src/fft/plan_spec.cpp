// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/fft/plan_spec.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include <larder/error.hpp>

#include "mix.hpp"

namespace larder::fft {

namespace {

using Numbers = std::vector<std::int64_t>;

[[noreturn]] void reject(const std::string& what) { throw InvalidSpec("plan: " + what); }

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) reject("the array has more elements than 64 bits count");
  return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) reject("the array has more elements than 64 bits count");
  return sum;
}

std::string indexed(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

/// @param field  a function that names the field, called for the message only: specs are often made anew per request
template <class Field>
void require_positive(std::int64_t value, const Field& field) {
  if (value < 1) reject(field() + " is " + std::to_string(value) + ", must be at least 1");
}

struct Side {
  Numbers strides;
  std::int64_t distance;
};

/// Strides of an array of these lengths, row-major.
Numbers packed_strides(const Numbers& array, std::int64_t stride) {
  Numbers strides(array.size());
  for (std::size_t i = array.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0) stride = times(stride, array[i]);
  }
  return strides;
}

std::int64_t extent_of(const Numbers& lengths, const Numbers& strides, std::int64_t batch, std::int64_t distance) {
  std::int64_t last = times(batch - 1, distance);
  for (std::size_t i = 0; i < lengths.size(); ++i) last = plus(last, times(lengths[i] - 1, strides[i]));
  return plus(last, 1);
}

/// @param lengths  of the data on this side
/// @param packed   of the array it lies in when the layout says nothing
Side strides_of(const Layout& layout, const Numbers& lengths, const Numbers& packed, std::int64_t batch,
                std::string_view name) {
  const auto side = [name](const char* field) { return std::string(name) + field; };
  const std::size_t rank = lengths.size();
  if (layout.distance < 0) reject(side(".distance is ") + std::to_string(layout.distance) + ", must not be negative");
  if (!layout.strides.empty()) {
    if (!layout.embed.empty() || layout.stride != 1)
      reject(side(" has strides and also embed or stride: give one form"));
    if (layout.strides.size() != rank) {
      reject(side(".strides has ") + std::to_string(layout.strides.size()) + " entries for " + std::to_string(rank) +
             " dimensions");
    }
    for (std::size_t i = 0; i < rank; ++i)
      require_positive(layout.strides[i], [&] { return indexed(side(".strides"), i); });
    if (batch > 1) require_positive(layout.distance, [&] { return side(".distance, with strides and a batch,"); });
    return {layout.strides, batch > 1 ? layout.distance : 0};
  }
  require_positive(layout.stride, [&] { return side(".stride"); });
  Numbers array = layout.embed.empty() ? packed : layout.embed;
  if (array.size() != rank) {
    reject(side(".embed has ") + std::to_string(array.size()) + " entries for " + std::to_string(rank) + " dimensions");
  }
  const bool from_array = batch > 1 && layout.distance == 0;
  for (std::size_t i = from_array ? 0 : 1; i < rank; ++i) {
    if (array[i] < lengths[i]) {
      reject(indexed(side(".embed"), i) + " is " + std::to_string(array[i]) + ", smaller than the " +
             std::to_string(lengths[i]) + " elements of that dimension");
    }
  }
  const Numbers strides = packed_strides(array, layout.stride);
  if (batch == 1) return {strides, 0};
  return {strides, from_array ? times(strides[0], array[0]) : layout.distance};
}

Side normalise(const Layout& layout, const Numbers& lengths, const Numbers& packed, std::int64_t batch,
               std::string_view name) {
  Side side = strides_of(layout, lengths, packed, batch, name);
  // A dimension of one element is never stepped along: it gets the stride that packing gives it.
  for (std::size_t i = lengths.size(); i-- > 0;) {
    if (lengths[i] == 1) side.strides[i] = i + 1 < lengths.size() ? times(side.strides[i + 1], packed[i + 1]) : 1;
  }
  return side;
}

/// Whether the side has the strides and the distance that normalise() gives an empty Layout.
bool is_packed(const Side& side, const Numbers& packed, std::int64_t batch) {
  std::int64_t stride = 1;
  for (std::size_t i = packed.size(); i-- > 0;) {
    if (side.strides[i] != stride || __builtin_mul_overflow(stride, packed[i], &stride)) return false;
  }
  return side.distance == (batch > 1 ? stride : 0);
}

Numbers halved(Numbers lengths) {
  lengths.back() = lengths.back() / 2 + 1;
  return lengths;
}

Numbers side_lengths(const Numbers& lengths, bool half) { return half ? halved(lengths) : lengths; }

std::int64_t bytes_per_real(Precision precision) {
  switch (precision) {
    case Precision::float16: return 2;
    case Precision::float32: return 4;
    case Precision::float64: return 8;
    case Precision::long_double: return 16;
  }
  return 16;
}

void require_one_array(Kind kind, const Side& input, const Side& output) {
  if (kind == Kind::c2c || kind == Kind::r2r) {
    if (input.strides != output.strides || input.distance != output.distance) {
      reject("in place, but input and output have different layouts");
    }
    return;
  }
  // A complex element takes the room of two real ones; only the innermost stride counts elements on both sides.
  const Side& real = kind == Kind::r2c ? input : output;
  const Side& complex = kind == Kind::r2c ? output : input;
  bool fits = real.strides.back() == complex.strides.back() && real.distance == 2 * complex.distance;
  for (std::size_t i = 0; i + 1 < real.strides.size(); ++i) fits = fits && real.strides[i] == 2 * complex.strides[i];
  if (!fits) {
    reject(
        "in place, but the real rows are not padded to twice the complex rows of n / 2 + 1 elements; leave the layout "
        "out or pad it");
  }
}

}  // namespace

PlanSpec::PlanSpec(const PlanParameters& parameters)
    : fields_{.kind = parameters.kind,
              .direction = parameters.kind == Kind::c2c ? parameters.direction : Direction::forward,
              .precision = parameters.precision,
              .placement = parameters.placement,
              .rank = static_cast<std::uint16_t>(parameters.lengths.size()),
              .batch = parameters.batch,
              .scale = parameters.scale,
              .context = parameters.context},
      real_kinds_(parameters.real_kinds) {
  if (parameters.lengths.empty()) reject("lengths is empty: a transform has at least one dimension");
  if (parameters.lengths.size() > std::numeric_limits<std::uint16_t>::max())
    reject("lengths has " + std::to_string(parameters.lengths.size()) + " dimensions, at most 65535 make sense");
  for (std::size_t i = 0; i < fields_.rank; ++i)
    require_positive(parameters.lengths[i], [i] { return indexed("lengths", i); });
  require_positive(fields_.batch, [] { return std::string("batch"); });
  if (!std::isfinite(fields_.scale) || fields_.scale == 0)
    reject("scale is " + std::to_string(fields_.scale) + ", must be finite and not 0");
  if (fields_.kind == Kind::r2r ? real_kinds_.size() != fields_.rank : !real_kinds_.empty()) {
    reject("real_kinds has " + std::to_string(real_kinds_.size()) +
           " entries; r2r takes one per dimension, other kinds none");
  }

  const bool half_input = fields_.kind == Kind::c2r;
  const bool half_output = fields_.kind == Kind::r2c;
  const Numbers input_lengths = side_lengths(parameters.lengths, half_input);
  const Numbers output_lengths = side_lengths(parameters.lengths, half_output);
  const auto packed = [&](const Numbers& lengths, bool real_side) {
    Numbers array = lengths;
    if (fields_.placement == Placement::in_place && real_side) array.back() = times(2, array.back() / 2 + 1);
    return array;
  };
  const Numbers packed_input = packed(input_lengths, fields_.kind == Kind::r2c);
  const Numbers packed_output = packed(output_lengths, fields_.kind == Kind::c2r);
  const Side input = normalise(parameters.input, input_lengths, packed_input, fields_.batch, "input");
  const Side output = normalise(parameters.output, output_lengths, packed_output, fields_.batch, "output");
  if (fields_.placement == Placement::in_place) require_one_array(fields_.kind, input, output);

  fields_.input_distance = input.distance;
  fields_.output_distance = output.distance;
  set_numbers(parameters.lengths, input.strides, output.strides);
  fields_.half_is_all = fields_.rank <= inline_rank && fields_.kind != Kind::r2r &&
                        is_packed(input, packed_input, fields_.batch) &&
                        is_packed(output, packed_output, fields_.batch);
  // Both sides must be addressable in bytes as well.
  (void)times(input_extent(), 2 * bytes_per_real(fields_.precision));
  (void)times(output_extent(), 2 * bytes_per_real(fields_.precision));
  fields_.hash = compute_hash();
}

PlanSpec PlanSpec::c2c(std::initializer_list<std::int64_t> lengths, Direction direction, Precision precision) {
  return PlanSpec({.lengths = lengths, .kind = Kind::c2c, .direction = direction, .precision = precision});
}

void PlanSpec::set_numbers(const Numbers& lengths, const Numbers& input_strides, const Numbers& output_strides) {
  if (rank() > inline_rank) more_.resize(3 * rank());
  std::int64_t* const numbers = rank() <= inline_rank ? fields_.numbers.data() : more_.data();
  std::copy(lengths.begin(), lengths.end(), numbers);
  std::copy(input_strides.begin(), input_strides.end(), numbers + rank());
  std::copy(output_strides.begin(), output_strides.end(), numbers + 2 * rank());
}

bool PlanSpec::same_rest(const PlanSpec& other) const noexcept {
  return fields_.numbers == other.fields_.numbers && fields_.input_distance == other.fields_.input_distance &&
         fields_.output_distance == other.fields_.output_distance && more_ == other.more_ &&
         real_kinds_ == other.real_kinds_;
}

std::uint64_t PlanSpec::compute_hash() const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t value :
       {static_cast<std::uint64_t>(fields_.rank), static_cast<std::uint64_t>(fields_.kind),
        static_cast<std::uint64_t>(fields_.direction), static_cast<std::uint64_t>(fields_.precision),
        static_cast<std::uint64_t>(fields_.placement), static_cast<std::uint64_t>(fields_.batch),
        static_cast<std::uint64_t>(fields_.input_distance), static_cast<std::uint64_t>(fields_.output_distance),
        std::bit_cast<std::uint64_t>(fields_.scale),
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(fields_.context.native)), fields_.context.id}) {
    hash = mix(hash, value);
  }
  for (std::size_t i = 0; i < 3 * rank(); ++i) hash = mix(hash, static_cast<std::uint64_t>(numbers()[i]));
  for (const RealKind kind : real_kinds_) hash = mix(hash, static_cast<std::uint64_t>(kind));
  return hash;
}

std::vector<std::int64_t> PlanSpec::input_lengths() const {
  return side_lengths({lengths().begin(), lengths().end()}, fields_.kind == Kind::c2r);
}

std::vector<std::int64_t> PlanSpec::output_lengths() const {
  return side_lengths({lengths().begin(), lengths().end()}, fields_.kind == Kind::r2c);
}

std::int64_t PlanSpec::input_extent() const {
  return extent_of(input_lengths(), {input_strides().begin(), input_strides().end()}, fields_.batch,
                   fields_.input_distance);
}

std::int64_t PlanSpec::output_extent() const {
  return extent_of(output_lengths(), {output_strides().begin(), output_strides().end()}, fields_.batch,
                   fields_.output_distance);
}

const char* to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::c2c: return "c2c";
    case Kind::r2c: return "r2c";
    case Kind::c2r: return "c2r";
    case Kind::r2r: return "r2r";
  }
  return "unknown";
}

const char* to_string(RealKind kind) noexcept {
  switch (kind) {
    case RealKind::r2hc: return "r2hc";
    case RealKind::hc2r: return "hc2r";
    case RealKind::dht: return "dht";
    case RealKind::redft00: return "redft00";
    case RealKind::redft01: return "redft01";
    case RealKind::redft10: return "redft10";
    case RealKind::redft11: return "redft11";
    case RealKind::rodft00: return "rodft00";
    case RealKind::rodft01: return "rodft01";
    case RealKind::rodft10: return "rodft10";
    case RealKind::rodft11: return "rodft11";
  }
  return "unknown";
}

const char* to_string(Precision precision) noexcept {
  switch (precision) {
    case Precision::float16: return "float16";
    case Precision::float32: return "float32";
    case Precision::float64: return "float64";
    case Precision::long_double: return "long_double";
  }
  return "unknown";
}

namespace {

void write_joined(std::ostream& out, std::span<const std::int64_t> numbers, char separator) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out << separator;
    out << numbers[i];
  }
}

}  // namespace

std::string PlanSpec::describe() const {
  std::ostringstream out;
  out << to_string(fields_.kind) << ' ';
  write_joined(out, lengths(), 'x');
  if (fields_.kind == Kind::c2c) out << (fields_.direction == Direction::forward ? " forward" : " backward");
  for (const RealKind kind : real_kinds_) out << ' ' << to_string(kind);
  out << ' ' << to_string(fields_.precision)
      << (fields_.placement == Placement::in_place ? " in place" : " out of place");
  if (fields_.batch > 1) out << " batch " << fields_.batch;
  out << " strides ";
  write_joined(out, input_strides(), ',');
  out << " -> ";
  write_joined(out, output_strides(), ',');
  if (fields_.batch > 1) out << " distances " << fields_.input_distance << " -> " << fields_.output_distance;
  if (fields_.scale != 1) out << " scale " << fields_.scale;
  if (fields_.context != gpu::Context{}) out << " context " << fields_.context.id;
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const PlanSpec& spec) { return out << spec.describe(); }

}  // namespace larder::fft
