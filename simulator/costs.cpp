// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <istream>
#include <larder/error.hpp>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

#include "measured_plans_csv.hpp"
#include "random.hpp"
#include "trace.hpp"

namespace larder::simulator {

namespace {

constexpr double typical_bytes = 64 * 1024;
constexpr double typical_build_ns = 2e6;
constexpr double bytes_per_element = 64;  // of a plan for a length: a typical plan is then for length 1024

constexpr double octaves_per_decade = 3.321928094887362;
constexpr double size_spread = 0.4 * octaves_per_decade;
constexpr double cost_spread = 0.5 * octaves_per_decade;
constexpr double cost_scatter = 0.2 * octaves_per_decade;

constexpr std::array<std::pair<CostModel, std::string_view>, cost_models.size()> model_names{
    {{CostModel::equal, "equal"},
     {CostModel::independent, "independent"},
     {CostModel::growing, "growing"},
     {CostModel::falling, "falling"},
     {CostModel::measured, "measured"}}};

/// One line of a table of measured plans, and where it stands.
class TableLine {
 public:
  TableLine(const std::string& source, std::uint64_t line, std::string_view text)
      : source_(source), line_(line), rest_(text) {}

  std::string_view field() {
    if (at_end_) reject("has fewer than 4 fields");
    const auto comma = rest_.find(',');
    const std::string_view text = rest_.substr(0, comma);
    at_end_ = comma == std::string_view::npos;
    if (!at_end_) rest_.remove_prefix(comma + 1);
    return text;
  }

  std::uint64_t number(const char* name) {
    const std::string_view text = field();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (error != std::errc{} || end != text.data() + text.size() || value > most) {
      reject(fmt::format("{} {} is not a whole number from 0 to {}", name, in_quotes(text), most));
    }
    return value;
  }

  void end() const {
    if (!at_end_) reject("has more than 4 fields");
  }

 private:
  [[noreturn]] void reject(const std::string& fault) const {
    throw InvalidArgument(fmt::format("measured plans {} line {}: {}; expected {}", in_quotes(source_), line_, fault,
                                      measured_plans_header));
  }

  const std::string& source_;
  std::uint64_t line_;
  std::string_view rest_;
  bool at_end_ = false;
};

MeasuredPlans plans_in(std::istream& table, const std::string& source) {
  std::string text;
  if (!std::getline(table, text) || text != measured_plans_header) {
    throw InvalidArgument(fmt::format("measured plans {}: the first line is {}; it must be {}", in_quotes(source),
                                      in_quotes(text), measured_plans_header));
  }
  MeasuredPlans plans;
  for (std::uint64_t number = 2; std::getline(table, text); ++number) {
    TableLine line(source, number, text);
    MeasuredPlan plan{};
    plan.length = line.number("length");
    plan.rigor = line.field();
    plan.bytes = line.number("bytes");
    plan.build = std::chrono::nanoseconds(line.number("build_ns"));
    line.end();
    plans.push_back(std::move(plan));
  }
  if (plans.empty()) throw InvalidArgument(fmt::format("measured plans {}: it holds no plan", in_quotes(source)));
  return plans;
}

}  // namespace

std::string_view to_string(CostModel model) noexcept { return model_names[static_cast<std::size_t>(model)].second; }

std::optional<CostModel> find_cost_model(std::string_view name) noexcept {
  for (const auto& [model, its_name] : model_names) {
    if (its_name == name) return model;
  }
  return std::nullopt;
}

MeasuredPlans read_measured_plans(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // Opening a directory succeeds; only reading it fails.
  if (!file || (file.peek() == std::ifstream::traits_type::eof() && errno != 0)) {
    throw InvalidArgument(
        fmt::format("cannot read measured plans {}: {}", in_quotes(path), std::generic_category().message(errno)));
  }
  return plans_in(file, path);
}

const MeasuredPlans& built_in_measured_plans() {
  static const MeasuredPlans plans = [] {
    std::istringstream table{std::string(measured_plans_csv)};
    return plans_in(table, "built-in table");
  }();
  return plans;
}

KeyCosts::KeyCosts(CostModel model, std::uint64_t seed, MeasuredPlans plans)
    : model_(model), seed_(seed), plans_(std::move(plans)) {
  std::stable_sort(plans_.begin(), plans_.end(),
                   [](const MeasuredPlan& a, const MeasuredPlan& b) { return a.length < b.length; });
}

HandleCost KeyCosts::of_key(std::uint64_t key) const {
  Random random(stream_seed(seed_, key));
  if (model_ == CostModel::measured) {
    const MeasuredPlan& plan = plans_[random.below(plans_.size())];
    return {plan.bytes, plan.build};
  }
  const double octaves_of_size = size_spread * random.normal();
  return modelled(octaves_of_size, random.normal());
}

HandleCost KeyCosts::of_length(std::uint64_t length) const {
  Random random(stream_seed(seed_, length));
  if (model_ == CostModel::measured) {
    const auto by_length = [](const MeasuredPlan& plan, std::uint64_t value) { return plan.length < value; };
    auto first = std::lower_bound(plans_.begin(), plans_.end(), length, by_length);
    if (first == plans_.end()) first = std::lower_bound(plans_.begin(), plans_.end(), plans_.back().length, by_length);
    // One length was planned with every rigor; a key has one of them for good.
    const auto last = std::find_if(first, plans_.end(), [&](const auto& plan) { return plan.length != first->length; });
    const MeasuredPlan& plan =
        first[static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint64_t>(last - first)))];
    return {plan.bytes, plan.build};
  }
  const double size = static_cast<double>(length) * bytes_per_element / typical_bytes;
  return modelled(binary_logarithm(size), random.normal());
}

HandleCost KeyCosts::modelled(double octaves_of_size, double scatter) const {
  double octaves_of_cost = 0;
  switch (model_) {
    case CostModel::equal:
    case CostModel::measured: break;
    case CostModel::independent: octaves_of_cost = cost_spread * scatter; break;
    case CostModel::growing: octaves_of_cost = octaves_of_size + cost_scatter * scatter; break;
    case CostModel::falling: octaves_of_cost = -octaves_of_size + cost_scatter * scatter; break;
  }
  const double bytes = typical_bytes * power_of_two(octaves_of_size);
  const double build_ns = typical_build_ns * power_of_two(octaves_of_cost);
  return {static_cast<std::size_t>(bytes), std::chrono::nanoseconds(static_cast<std::int64_t>(build_ns))};
}

}  // namespace larder::simulator
