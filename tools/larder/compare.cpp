// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder compare: two files of Google Benchmark side by side.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "arguments.hpp"
#include "measurements.hpp"
#include "text_table.hpp"

namespace larder::cli {

namespace {

Measurements read(const std::string& path) {
  try {
    return read_measurements(path);
  } catch (const BadBenchmarkFile& error) {
    throw BadArguments(error.what());
  }
}

struct Comparison {
  std::string old_path;
  std::string new_path;
  std::optional<double> threshold;
  bool markdown = false;

  void run() const {
    const Measurements previous = read(old_path);
    const Measurements current = read(new_path);
    std::unordered_map<std::string, double> before;
    for (const Measurement& each : previous.all) before.emplace(each.name, each.nanoseconds);

    TextTable table({"suite", "current", "previous", "ratio"});
    std::size_t common = 0;
    std::size_t over = 0;
    double worst = 0;
    std::string worst_name;
    for (const Measurement& each : current.all) {
      const auto found = before.find(each.name);
      if (found == before.end()) {
        table.add({each.name, short_time(each.nanoseconds), "-", "-"});
        continue;
      }
      const double ratio = each.nanoseconds / found->second;
      table.add({each.name, short_time(each.nanoseconds), short_time(found->second), fmt::format("{:.3f}", ratio)});
      ++common;
      if (threshold && ratio > 1 + *threshold / 100) ++over;
      if (ratio > worst) {
        worst = ratio;
        worst_name = each.name;
      }
      before.erase(found);
    }
    for (const Measurement& each : previous.all) {
      if (before.contains(each.name)) table.add({each.name, "-", short_time(each.nanoseconds), "-"});
    }
    if (common == 0) throw BadArguments(fmt::format("{} and {} have no suite in common", old_path, new_path));
    fmt::print("{}", table.text(markdown ? TextTable::Form::markdown : TextTable::Form::plain));
    if (over > 0) {
      throw std::runtime_error(
          fmt::format("{} of {} suites are more than {} % slower; the worst is {} with ratio {:.3f}", over, common,
                      *threshold, worst_name, worst));
    }
  }
};

}  // namespace

Command add_compare(CLI::App& app) {
  const auto comparison = std::make_shared<Comparison>();
  CLI::App& sub = *app.add_subcommand("compare", "Compare two result files of Google Benchmark");
  sub.footer(
      "The ratio is current / previous: above 1 is slower. Repetitions count by their median, and a suite by the time\n"
      "it was told to measure (real_time and manual_time are part of its name; else it is processor time).\n"
      "Exit code 1 when a ratio is over the threshold.\n\n"
      "Example:\n"
      "  larder compare old.json new.json --threshold 10 --markdown");
  sub.add_option("OLD", comparison->old_path, "Previous results")->required()->type_name("FILE");
  sub.add_option("NEW", comparison->new_path, "Current results")->required()->type_name("FILE");
  sub.add_option_function<double>(
         "--threshold",
         [comparison](double percent) {
           if (!(percent >= 0)) {
             throw CLI::ValidationError("--threshold", fmt::format("{} will not do; give 0 or more percent", percent));
           }
           comparison->threshold = percent;
         },
         "Fail when a suite is slower by more than this")
      ->type_name("PERCENT");
  sub.add_flag("--markdown", comparison->markdown, "Print the table for a pull request comment");
  return {&sub, [comparison] { comparison->run(); }};
}

}  // namespace larder::cli
