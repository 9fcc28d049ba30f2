// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder trace: writes a made-up trace, row by row, so that its length costs no memory.
#include "simulator/trace.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "arguments.hpp"
#include "report.hpp"
#include "simulator/generators.hpp"

namespace larder::cli {

namespace {

using simulator::in_quotes;
using simulator::Pattern;

struct Trace {
  simulator::TraceSettings settings;
  std::optional<std::string> measured;
  std::string output;

  void run() {
    const bool has_cold = settings.pattern == Pattern::scan || settings.pattern == Pattern::hotcold;
    if ((settings.hot || settings.cold) && !has_cold) {
      throw BadArguments(fmt::format("{} has no hot and cold keys; --hot and --cold are for scan and hotcold",
                                     to_string(settings.pattern)));
    }
    if (measured) {
      if (settings.costs != simulator::CostModel::measured) {
        throw BadArguments(
            fmt::format("--measured {} is not used; give --costs measured with it", in_quotes(*measured)));
      }
      settings.measured = simulator::read_measured_plans(*measured);
    }
    simulator::TraceGenerator generator(settings);
    OutputFile file(OutputPath("-o", output));
    file.write(fmt::format("{}\n", simulator::trace_header));
    std::string line;
    for (simulator::TraceRow row; generator.next(row);) {
      line.clear();
      fmt::format_to(std::back_inserter(line), "{},{},{},{},{}\n", row.time.count(), row.key, row.bytes,
                     row.build.count(), row.lease.count());
      file.write(line);
    }
    file.commit();
  }
};

template <class Names, class Find>
auto named(const char* option, const std::string& name, const Names& all, Find find) {
  const auto found = find(name);
  if (!found) {
    std::string names;
    for (const auto each : all) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(each));
    throw CLI::ValidationError(option, fmt::format("{} will not do; give one of {}", in_quotes(name), names));
  }
  return *found;
}

}  // namespace

Command add_trace(CLI::App& app) {
  const auto trace = std::make_shared<Trace>();
  simulator::TraceSettings& settings = trace->settings;
  CLI::App& sub =
      *app.add_subcommand("trace", "Make up a trace of requests, the same for the same seed on every machine");
  sub.footer(
      "Patterns:\n"
      "  zipf     some keys are much more popular than others, for good\n"
      "  drift    the same, but popularity moves\n"
      "  jobs     four jobs at once, each going round a small set of keys for a while\n"
      "  scan     hot keys by popularity, and every so often a sweep of keys that never come again\n"
      "  hotcold  in each iteration every hot key once, then keys that never come again\n"
      "  loop     all keys in turn, again and again\n"
      "  phases   a small working set, which is another one every so often\n"
      "  lengths  sequence lengths, log-normally distributed\n"
      "Cost models: equal; independent of the bytes, growing or falling with them; measured FFTW plans.\n\n"
      "Example:\n"
      "  larder trace drift --requests 20000 --costs measured -o drift.csv\n"
      "  larder replay drift.csv --max-idle-bytes 4MiB --bound");
  sub.add_option_function<std::string>(
         "PATTERN",
         [&settings](const std::string& name) {
           settings.pattern = named("PATTERN", name, simulator::patterns, simulator::find_pattern);
         },
         "Kind of program; see below")
      ->required()
      ->type_name("");
  const auto add_count = [&sub](const std::string& name, auto& field, std::int64_t least, const std::string& help,
                                const std::string& otherwise) {
    sub.add_option_function<std::string>(
           name,
           [name, &field, least](const std::string& text) {
             field = static_cast<std::uint64_t>(number_from(name, text, least));
           },
           help)
        ->type_name("N")
        ->default_str(otherwise);
  };
  add_count("--requests", settings.requests, 0, "Rows", std::to_string(settings.requests));
  add_count("--keys", settings.keys, 1, "Keys that may come again", std::to_string(settings.keys));
  add_count("--hot", settings.hot, 1, "Hot keys of scan and hotcold", "keys; keys / 2 in hotcold");
  add_count("--cold", settings.cold, 0, "Keys that never come again, in a sweep or iteration", "hot / 4");
  add_count("--seed", settings.seed, 0, "Another seed, another trace", std::to_string(settings.seed));
  sub.add_option_function<std::string>(
         "--costs",
         [&settings](const std::string& name) {
           settings.costs = named("--costs", name, simulator::cost_models, simulator::find_cost_model);
         },
         "How bytes and build time of a key go together")
      ->type_name("MODEL")
      ->default_str(std::string(to_string(settings.costs)));
  sub.add_option_function<std::string>(
         "--overlap",
         [&settings](const std::string& text) {
           const char* const end = text.data() + text.size();
           const auto [stop, error] = std::from_chars(text.data(), end, settings.overlap);
           if (error != std::errc{} || stop != end || !(settings.overlap >= 0 && settings.overlap <= 1)) {
             throw CLI::ValidationError("--overlap",
                                        fmt::format("{} will not do; give a share from 0 to 1", in_quotes(text)));
           }
         },
         "Share of leases that last longer than to the next request")
      ->type_name("SHARE")
      ->default_str(fmt::format("{}", settings.overlap));
  sub.add_option("--measured", trace->measured, "Draw from this table of measured plans, with --costs measured")
      ->type_name("FILE");
  sub.add_option("-o,--output", trace->output, "Write the trace to this file")->required()->type_name("FILE");
  return {&sub, [trace] { trace->run(); }};
}

}  // namespace larder::cli
