// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder replay: what each policy would have built on a recorded trace.
#include "simulator/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "arguments.hpp"
#include "report.hpp"
#include "simulator/bound.hpp"

namespace larder::cli {

namespace {

struct Replay {
  TraceChoice trace;
  bool with_bound = false;
  std::optional<std::string> json;

  std::vector<simulator::ReplayResult> replayed(const Budget& limits) const {
    std::error_code no_file;  // which the replay then reports
    const std::uintmax_t size = std::filesystem::file_size(trace.path, no_file);
    Progress progress(no_file ? 1 : std::max<std::uintmax_t>(size, 1));
    return simulator::replay(trace.path, trace.policies, limits,
                             [&](std::uint64_t read) { progress.show(read, "", size_in_words(read)); });
  }

  void run() const {
    const JsonFile file(json);
    const Budget limits = trace.limits();
    const std::vector<simulator::ReplayResult> results = replayed(limits);

    std::optional<simulator::OfflineBound> offline;
#ifdef LARDER_HAVE_BOUND
    if (with_bound) offline = simulator::offline_bound(simulator::read_trace(trace.path), limits);
#endif

    auto rows = nlohmann::ordered_json::array();
    fmt::print("{:<8}  {:>12}  {:>12}  {:>12}{}\n", "policy", "requests", "builds", "build time",
               offline ? "  ratio to bound" : "");
    for (const simulator::ReplayResult& result : results) {
      nlohmann::ordered_json row{{"policy", result.policy},
                                 {"requests", result.requests},
                                 {"builds", result.builds},
                                 {"build_ns", result.build_time.count()}};
      std::string ratio;
      if (offline) {
        row["bound_ns"] = offline->bound.count();
        row["feasible_ns"] = offline->feasible.count();
        const double to_bound = result.build_time == offline->bound ? 1
                                                                    : static_cast<double>(result.build_time.count()) /
                                                                          static_cast<double>(offline->bound.count());
        row["ratio"] = to_bound;
        ratio = fmt::format("  {:>14.3f}", to_bound);
      }
      fmt::print("{:<8}  {:>12}  {:>12}  {:>12}{}\n", result.policy, result.requests, result.builds,
                 time_in_words(result.build_time), ratio);
      rows.push_back(std::move(row));
    }
    if (offline) {
      fmt::print("bound: at least {}; a schedule that knows the future needs {}\n", time_in_words(offline->bound),
                 time_in_words(offline->feasible));
    }
    file.write(rows);
  }
};

}  // namespace

Command add_replay(CLI::App& app) {
  const auto replay = std::make_shared<Replay>();
  CLI::App& sub = *app.add_subcommand("replay", "Replay a recorded trace under each policy, in virtual time");
  sub.footer(
      "A trace is a CSV file with the header time_ns,key,bytes,build_ns,lease_ns, one request a line in order of time. "
      "A\n"
      "key is any text without commas; bytes and build_ns are what building the handle at that line takes; lease_ns "
      "is\n"
      "how long it is used, from time_ns on. The environment changes nothing here.\n\n"
      "Example:\n"
      "  larder replay requests.csv --policy value,lru --max-idle-bytes 256MiB --bound --json result.json");
  replay->trace.add_options(sub);
#ifdef LARDER_HAVE_BOUND
  sub.add_flag("--bound", replay->with_bound,
               "Add the time below which no cache can stay, even one that knows the future; needs memory for all rows");
#else
  sub.add_flag_callback(
      "--bound", [] { throw CLI::ValidationError("--bound", "this larder was built without LEMON (liblemon-dev)"); },
      "Not there: this larder was built without LEMON (liblemon-dev)");
#endif
  sub.add_option("--json", replay->json, "Write the results to this file")->type_name("FILE");
  return {&sub, [replay] { replay->run(); }};
}

}  // namespace larder::cli
