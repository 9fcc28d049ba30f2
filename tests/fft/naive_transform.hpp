// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transforms by their definitions in the FFTW manual, one sum per output element: what a plan's result must equal.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <larder/fft/plan_spec.hpp>
#include <numbers>
#include <span>
#include <vector>

namespace larder::fft::tests {

using Exact = std::complex<long double>;

struct Element {
  std::int64_t transform;           // which of the batch
  std::vector<std::int64_t> index;  // in the transform
  std::size_t offset;               // in the array
};

/// Every element of one side of a transform.
inline std::vector<Element> elements(const std::vector<std::int64_t>& lengths, std::span<const std::int64_t> strides,
                                     std::int64_t batch, std::int64_t distance) {
  std::vector<Element> all;
  for (std::int64_t transform = 0; transform < batch; ++transform) {
    std::vector<std::int64_t> index(lengths.size(), 0);
    for (bool more = true; more;) {
      std::int64_t offset = transform * distance;
      for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
      all.push_back({transform, index, static_cast<std::size_t>(offset)});
      more = false;
      for (std::size_t i = index.size(); i-- > 0 && !more;) {
        more = ++index[i] < lengths[i];
        if (!more) index[i] = 0;
      }
    }
  }
  return all;
}

inline std::vector<Element> input_elements(const PlanSpec& spec) {
  return elements(spec.input_lengths(), spec.input_strides(), spec.batch(), spec.input_distance());
}

inline std::vector<Element> output_elements(const PlanSpec& spec) {
  return elements(spec.output_lengths(), spec.output_strides(), spec.batch(), spec.output_distance());
}

/// Factor of input element j in output element k of a one-dimensional complex transform.
inline Exact complex_factor(std::int64_t n, std::int64_t k, std::int64_t j, Direction direction) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k * j % n) / static_cast<long double>(n);
  return std::polar(1.0L, direction == Direction::forward ? -angle : angle);
}

/// The same for a real-to-real transform.
inline long double real_factor(RealKind kind, std::int64_t length, std::int64_t out, std::int64_t in) {
  const auto n = static_cast<long double>(length);
  const auto k = static_cast<long double>(out);
  const auto j = static_cast<long double>(in);
  const long double pi = std::numbers::pi_v<long double>;
  const long double sign = out % 2 == 0 ? 1 : -1;
  const bool first = in == 0;
  const bool last = in == length - 1;
  switch (kind) {
    case RealKind::r2hc: return 2 * out <= length ? std::cos(2 * pi * j * k / n) : -std::sin(2 * pi * j * (n - k) / n);
    case RealKind::hc2r:
      if (first) return 1;
      if (2 * in == length) return sign;
      return 2 * in < length ? 2 * std::cos(2 * pi * j * k / n) : -2 * std::sin(2 * pi * (n - j) * k / n);
    case RealKind::dht: return std::cos(2 * pi * j * k / n) + std::sin(2 * pi * j * k / n);
    case RealKind::redft00:
      if (first) return 1;
      return last ? sign : 2 * std::cos(pi * j * k / (n - 1));
    case RealKind::redft10: return 2 * std::cos(pi * (j + 0.5L) * k / n);
    case RealKind::redft01: return first ? 1 : 2 * std::cos(pi * j * (k + 0.5L) / n);
    case RealKind::redft11: return 2 * std::cos(pi * (j + 0.5L) * (k + 0.5L) / n);
    case RealKind::rodft00: return 2 * std::sin(pi * (j + 1) * (k + 1) / (n + 1));
    case RealKind::rodft10: return 2 * std::sin(pi * (j + 0.5L) * (k + 1) / n);
    case RealKind::rodft01: return last ? sign : 2 * std::sin(pi * (j + 1) * (k + 0.5L) / n);
    case RealKind::rodft11: return 2 * std::sin(pi * (j + 0.5L) * (k + 0.5L) / n);
  }
  return 0;
}

/// How often input element j of the half-complex side of a c2r counts: once for itself, once for its mirror image, which
/// is not stored.
inline bool has_mirror(std::int64_t n, std::int64_t j) { return j != 0 && 2 * j != n; }

/// Results in the order of output_elements(); `value` gives the input at an offset. The input of a c2r must be the
/// transform of real data.
template <class Value>
std::vector<Exact> naive_transform(const PlanSpec& spec, const Value& value) {
  const std::vector<Element> inputs = input_elements(spec);
  const auto lengths = spec.lengths();
  const Direction direction = spec.kind() == Kind::c2r ? Direction::backward : spec.direction();
  std::vector<Exact> results;
  for (const Element& out : output_elements(spec)) {
    Exact sum = 0;
    for (const Element& in : inputs) {
      if (in.transform != out.transform) continue;
      Exact factor = 1;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        factor *= spec.kind() == Kind::r2r
                      ? Exact(real_factor(spec.real_kinds()[i], lengths[i], out.index[i], in.index[i]))
                      : complex_factor(lengths[i], out.index[i], in.index[i], direction);
      }
      const Exact term = factor * Exact(value(in.offset));
      const bool mirrored = spec.kind() == Kind::c2r && has_mirror(lengths.back(), in.index.back());
      sum += mirrored ? term + std::conj(term) : term;
    }
    results.push_back(sum);
  }
  return results;
}

}  // namespace larder::fft::tests
