// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TraceGenerator: makes up requests for handles, each pattern with the character of one kind of program.
//
//   zipf     some keys are much more popular than others, for good
//   drift    the same, but popularity moves: now and then a popular key changes places with any other
//   jobs     four jobs at once, each going round a small set of keys; when one ends, another begins with a new set
//   scan     hot keys by popularity, and every so often a sweep of keys that never come again
//   hotcold  in each iteration every hot key once, then keys that never come again
//   loop     all keys in turn, again and again
//   phases   popular and less popular keys of a small working set, which is another one every so often
//   lengths  sequence lengths, log-normally distributed and rounded to multiples of 8
//
// A request comes every millisecond. Most leases are over before the next one comes; a share, drawn at random, lasts up to
// 16 requests. What a handle costs is a property of its key (KeyCosts). The same settings give the same trace on every
// platform.
//
// Invariant: memory is in proportion to the number of reused keys, not to requests or keys used once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "costs.hpp"
#include "random.hpp"
#include "trace.hpp"

namespace larder::simulator {

enum class Pattern : std::uint8_t { zipf, drift, jobs, scan, hotcold, loop, phases, lengths };

inline constexpr std::array patterns{Pattern::zipf,    Pattern::drift, Pattern::jobs,   Pattern::scan,
                                     Pattern::hotcold, Pattern::loop,  Pattern::phases, Pattern::lengths};

[[nodiscard]] std::string_view to_string(Pattern pattern) noexcept;
/// The pattern of that name, or nullopt.
[[nodiscard]] std::optional<Pattern> find_pattern(std::string_view name) noexcept;

struct TraceSettings {
  Pattern pattern = Pattern::zipf;
  std::uint64_t requests = 5000;
  std::uint64_t keys = 400;                         ///< that may come again; about as many in `lengths`
  std::optional<std::uint64_t> hot = std::nullopt;  ///< hot keys; keys in scan and keys / 2 in hotcold unless set
  std::optional<std::uint64_t> cold =
      std::nullopt;  ///< keys of one sweep or iteration that never come again; hot / 4 unless set
  std::uint64_t seed = 1;
  double overlap = 0.1;  ///< share of leases that last longer than to the next request, 0 to 1
  CostModel costs = CostModel::independent;
  MeasuredPlans measured = built_in_measured_plans();
};

/// Chooses the key of each request.
class KeySequence {
 public:
  KeySequence() = default;
  virtual ~KeySequence() = default;
  KeySequence(const KeySequence&) = delete;
  KeySequence& operator=(const KeySequence&) = delete;
  [[nodiscard]] virtual std::uint64_t next(Random& random) = 0;
};

class TraceGenerator {
 public:
  /// @throws InvalidArgument when a setting is out of range
  explicit TraceGenerator(const TraceSettings& settings);

  /// Makes up the next request; false when there were as many as asked for.
  [[nodiscard]] bool next(TraceRow& row);

 private:
  TraceSettings settings_;
  KeyCosts costs_;
  Random keys_;
  Random leases_;
  std::unique_ptr<KeySequence> sequence_;
  std::uint64_t made_ = 0;
};

/// The whole trace.
/// @throws InvalidArgument when a setting is out of range
[[nodiscard]] std::vector<TraceRow> generate(const TraceSettings& settings);

}  // namespace larder::simulator
