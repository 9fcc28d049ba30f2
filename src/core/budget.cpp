// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/budget.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace larder {

namespace {

template <class Number, std::size_t N>
std::optional<Number> parse_scaled(std::string_view text,
                                   const std::array<std::pair<std::string_view, Number>, N>& units,
                                   Number unlimited) noexcept {
  if (text == "unlimited") return unlimited;
  Number count{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || count < 0) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  for (const auto& [name, factor] : units) {
    if (unit != name) continue;
    Number scaled{};
    if (__builtin_mul_overflow(count, factor, &scaled)) return std::nullopt;
    return scaled;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> parse_count(std::string_view text) noexcept {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 1> units{{{"", 1}}};
  return parse_scaled(text, units, Budget::unlimited);
}

std::optional<std::size_t> parse_bytes(std::string_view text) noexcept {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 5> units{{{"", 1},
                                                                                  {"KiB", std::size_t{1} << 10},
                                                                                  {"MiB", std::size_t{1} << 20},
                                                                                  {"GiB", std::size_t{1} << 30},
                                                                                  {"TiB", std::size_t{1} << 40}}};
  return parse_scaled(text, units, Budget::unlimited);
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> units{{{"ns", 1},
                                                                                   {"us", 1'000},
                                                                                   {"ms", 1'000'000},
                                                                                   {"s", 1'000'000'000},
                                                                                   {"min", 60'000'000'000},
                                                                                   {"h", 3'600'000'000'000}}};
  const auto count = parse_scaled(text, units, std::int64_t{Budget::unlimited_age.count()});
  if (!count) return std::nullopt;
  return std::chrono::nanoseconds(*count);
}

}  // namespace larder
