// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// KeyCosts: what a handle of a generated trace holds and what building it takes.
//
// Both are properties of the key: a function of the seed and the key's number, computed anew each time, so that keys used
// once leave nothing behind in memory. In all models but `measured`, bytes spread log-normally around 64 KiB (standard
// deviation 0.4 decades) and build times around 2 ms:
//   equal        every build takes 2 ms
//   independent  of the bytes; standard deviation half a decade, so that 95 of 100 keys lie within two decades
//   growing      in proportion to the bytes, with a scatter of 0.2 decades
//   falling      in proportion to 1 / bytes, with the same scatter
//   measured     bytes and build time of one row, drawn at random, of a table of measured plans
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larder::simulator {

enum class CostModel : std::uint8_t { equal, independent, growing, falling, measured };

inline constexpr std::array cost_models{CostModel::equal, CostModel::independent, CostModel::growing,
                                        CostModel::falling, CostModel::measured};

[[nodiscard]] std::string_view to_string(CostModel model) noexcept;
/// The model of that name, or nullopt.
[[nodiscard]] std::optional<CostModel> find_cost_model(std::string_view name) noexcept;

/// What making one plan took.
struct MeasuredPlan {
  std::uint64_t length;
  std::string rigor;  ///< of the planner: estimate or measure
  std::size_t bytes;
  std::chrono::nanoseconds build;
};

using MeasuredPlans = std::vector<MeasuredPlan>;

/// The header of a table of measured plans, one plan a line.
inline constexpr std::string_view measured_plans_header = "length,rigor,bytes,build_ns";

/// Reads a table of measured plans.
///
/// @throws InvalidArgument naming the file, the line and the value when it is not of that form, or holds no plan
[[nodiscard]] MeasuredPlans read_measured_plans(const std::string& path);

/// The table that was measured when this version was made; docs/simulator.md says where.
[[nodiscard]] const MeasuredPlans& built_in_measured_plans();

struct HandleCost {
  std::size_t bytes;
  std::chrono::nanoseconds build;
};

class KeyCosts {
 public:
  /// @param plans  drawn from by CostModel::measured, not empty; sorted by length when lengths will be asked for
  KeyCosts(CostModel model, std::uint64_t seed, MeasuredPlans plans);

  [[nodiscard]] HandleCost of_key(std::uint64_t key) const;
  /// The same for a key that is a length: bytes are in proportion to it, or those of the measured plan next in length.
  [[nodiscard]] HandleCost of_length(std::uint64_t length) const;

 private:
  [[nodiscard]] HandleCost modelled(double octaves_of_size, double scatter) const;

  CostModel model_;
  std::uint64_t seed_;
  MeasuredPlans plans_;
};

}  // namespace larder::simulator
