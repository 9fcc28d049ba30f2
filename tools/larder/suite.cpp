// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder suite: how far from the offline bound each policy stays, over made-up programs of every kind.
#include "simulator/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "report.hpp"
#include "svg.hpp"
#include "text_table.hpp"

namespace larder::cli {

namespace {

using simulator::SuiteCase;
using simulator::SuiteResult;

struct Suite {
  std::vector<Policy> policies;
  std::int64_t seeds = 3;
  std::int64_t first_seed = 100;
  std::int64_t requests = 5000;
  std::int64_t jobs = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
  bool with_bound = false;
  std::optional<std::string> json;
  std::optional<std::string> plot;

  void run() const;

 private:
  [[nodiscard]] SuiteResult result() const;
};

SuiteResult Suite::result() const {
  const auto traces =
      simulator::patterns.size() * simulator::suite_cost_models.size() * static_cast<std::uint64_t>(seeds);
  Progress progress(traces);
  return simulator::run_suite(
      {.policies = policies,
       .seeds = static_cast<std::uint64_t>(seeds),
       .first_seed = static_cast<std::uint64_t>(first_seed),
       .requests = static_cast<std::uint64_t>(requests),
       .with_bound = with_bound && simulator::has_offline_bound(),
       .jobs = static_cast<unsigned>(std::min<std::int64_t>(jobs, 1024))},
      [&](std::uint64_t done) { progress.show(done, "", fmt::format("{}/{} traces", done, traces)); });
}

/// One object for each contestant over the cases that count, with the fields of `group` first.
template <class Counts>
void add_ratios(nlohmann::ordered_json& list, const SuiteResult& result, const nlohmann::ordered_json& group,
                const Counts& counts) {
  for (std::size_t i = 0; i < result.contestants.size(); ++i) {
    const simulator::Ratio ratio = simulator::ratio(result, i, counts);
    nlohmann::ordered_json object = group;
    object["policy"] = result.contestants[i];
    object["mean"] = ratio.mean;
    object["worst"] = ratio.worst;
    list.push_back(std::move(object));
  }
}

const auto every_case = [](const SuiteCase&) { return true; };

nlohmann::ordered_json to_json(const Suite& suite, const SuiteResult& result, const std::string& reference) {
  const auto empty = nlohmann::ordered_json::array();
  nlohmann::ordered_json json{
      {"reference", reference}, {"requests", suite.requests}, {"seeds", suite.seeds}, {"first_seed", suite.first_seed},
      {"total", empty},         {"by_pattern", empty},        {"by_costs", empty},    {"by_budget", empty},
      {"cases", empty}};
  add_ratios(json["total"], result, nlohmann::ordered_json::object(), every_case);
  for (const auto pattern : simulator::patterns) {
    add_ratios(json["by_pattern"], result, {{"pattern", to_string(pattern)}},
               [=](const SuiteCase& each) { return each.pattern == pattern; });
  }
  for (const auto costs : simulator::suite_cost_models) {
    add_ratios(json["by_costs"], result, {{"costs", to_string(costs)}},
               [=](const SuiteCase& each) { return each.costs == costs; });
  }
  for (const auto percent : simulator::suite_budgets) {
    add_ratios(json["by_budget"], result, {{"budget_percent", percent}},
               [=](const SuiteCase& each) { return each.budget_percent == percent; });
  }
  for (const SuiteCase& each : result.cases) {
    nlohmann::ordered_json builds = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < result.contestants.size(); ++i) builds[result.contestants[i]] = each.builds[i].count();
    json["cases"].push_back({{"pattern", to_string(each.pattern)},
                             {"costs", to_string(each.costs)},
                             {"seed", each.seed},
                             {"budget_percent", each.budget_percent},
                             {"budget_bytes", each.budget_bytes},
                             {"reference_ns", each.reference.count()},
                             {"build_ns", builds}});
  }
  return json;
}

std::string table(const SuiteResult& result) {
  std::vector<std::string> heading{"pattern"};
  for (const std::string& contestant : result.contestants) heading.insert(heading.end(), {contestant, "worst"});
  TextTable table(heading);
  const auto add = [&](std::string_view name, const auto& counts) {
    std::vector<std::string> row{std::string(name)};
    for (std::size_t i = 0; i < result.contestants.size(); ++i) {
      const simulator::Ratio ratio = simulator::ratio(result, i, counts);
      row.insert(row.end(), {fmt::format("{:.3f}", ratio.mean), fmt::format("{:.2f}", ratio.worst)});
    }
    table.add(row);
  };
  for (const auto pattern : simulator::patterns) {
    add(to_string(pattern), [=](const SuiteCase& each) { return each.pattern == pattern; });
  }
  add("total", every_case);
  return table.text(TextTable::Form::plain);
}

std::string picture(const SuiteResult& result, const std::string& heading) {
  std::vector<std::string> budgets;
  budgets.reserve(simulator::suite_budgets.size());
  for (const auto percent : simulator::suite_budgets) budgets.push_back(fmt::format("{} %", percent));
  std::vector<Chart> charts;
  for (const auto pattern : simulator::patterns) {
    Chart chart{.title = std::string(to_string(pattern)), .lines = {}};
    for (std::size_t i = 0; i < result.contestants.size(); ++i) {
      std::vector<double>& line = chart.lines.emplace_back();
      for (const auto percent : simulator::suite_budgets) {
        const auto counts = [=](const SuiteCase& each) {
          return each.pattern == pattern && each.budget_percent == percent;
        };
        line.push_back(simulator::ratio(result, i, counts).mean);
      }
    }
    charts.push_back(std::move(chart));
  }
  return line_charts(heading, budgets, result.contestants, charts);
}

void Suite::run() const {
  const JsonFile json_file(json);
  std::optional<OutputPath> plot_path;
  if (plot) plot_path.emplace("--plot", *plot);
  const SuiteResult result = this->result();

  const bool bounded = with_bound && simulator::has_offline_bound();
  if (with_bound && !bounded) {
    fmt::print("no offline bound: this larder was built without LEMON (liblemon-dev); costs are relative to gds\n");
  }
  const std::string reference = bounded ? "bound" : "gds";
  fmt::print("build cost / {}: geometric mean and worst of {} cost models, {} budgets, {} seeds\n", reference,
             simulator::suite_cost_models.size(), simulator::suite_budgets.size(), seeds);
  fmt::print("{}", table(result));
  json_file.write(to_json(*this, result, reference));
  if (plot_path) {
    OutputFile file(*plot_path);
    file.write(
        picture(result, fmt::format("Build cost / {}, by budget in percent of the bytes of all keys", reference)));
    file.commit();
  }
}

}  // namespace

Command add_suite(CLI::App& app) {
  const auto suite = std::make_shared<Suite>();
  CLI::App& sub = *app.add_subcommand("suite", "Compare policies on made-up traces of every kind, in virtual time");
  sub.footer(
      "Every pattern of larder trace, with costs independent of the bytes, growing or falling with them, or measured, "
      "runs\n"
      "with room for 5, 10, 20 and 40 % of the bytes that one handle of every key would hold. Costs are relative to "
      "the\n"
      "offline bound with --bound (offline is then a schedule that knows the future), else to gds.\n\n"
      "Example:\n"
      "  larder suite --bound --json suite.json --plot suite.svg");
  add_policies(sub, suite->policies);
  add_number(sub, "--seeds", suite->seeds, 1, "Traces of each kind");
  add_number(sub, "--first-seed", suite->first_seed, 0, "Seed of the first of them; the others follow");
  add_number(sub, "--requests", suite->requests, 1, "Rows of each trace");
  add_number(sub, "--jobs", suite->jobs, 1, "Threads");
  sub.add_flag("--bound", suite->with_bound, "Costs relative to the time below which no cache can stay");
  sub.add_option("--json", suite->json, "Write all results to this file")->type_name("FILE");
  sub.add_option("--plot", suite->plot, "Write a picture of them to this file")->type_name("FILE.svg");
  return {&sub, [suite] { suite->run(); }};
}

}  // namespace larder::cli
