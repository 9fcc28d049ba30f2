// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder measure-plans: what FFTW plans cost on this machine, for the cost model `measured`.
//
// Each plan is made from nothing: FFTW forgets what it learned of the ones before. Other work on the machine makes MEASURE
// try again, and again, so the time of a plan is the least of three.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <larder/fft/fftw.hpp>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "report.hpp"
#include "simulator/costs.hpp"

namespace larder::cli {

namespace {

constexpr double shortest = 16;
constexpr double longest = 65536;

struct Measure {
  std::int64_t lengths = 300;
  std::string output;

  void run() const;
};

/// Evenly spread on a logarithmic scale; the shortest may coincide.
std::vector<std::int64_t> spread_lengths(std::int64_t count) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    lengths.push_back(std::llround(shortest * std::pow(longest / shortest, share)));
  }
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

simulator::MeasuredPlan measure(std::int64_t length, const std::string& rigor, unsigned flags) {
  fft::fftw::PlanFactory factory;
  const fft::fftw::PlanKey key(fft::PlanSpec({.lengths = {length}}), {.flags = flags});
  std::array<std::chrono::nanoseconds, 3> times{};
  std::size_t bytes = 0;
  for (auto& time : times) {
    fftw_forget_wisdom();
    const auto start = std::chrono::steady_clock::now();
    const fft::fftw::Plan plan = factory.create(key);
    time = std::chrono::steady_clock::now() - start;
    bytes = factory.bytes(key, plan);
    factory.destroy(key, plan);
  }
  return {static_cast<std::uint64_t>(length), rigor, bytes, *std::min_element(times.begin(), times.end())};
}

void Measure::run() const {
  OutputFile file(OutputPath("-o", output));
  file.write(fmt::format("{}\n", simulator::measured_plans_header));
  const std::vector<std::int64_t> all = spread_lengths(lengths);
  static_cast<void>(measure(all.front(), "estimate", FFTW_ESTIMATE));  // FFTW's first plan sets up its solvers
  Progress progress(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [rigor, flags] : {std::pair("estimate", FFTW_ESTIMATE), std::pair("measure", FFTW_MEASURE)}) {
      const simulator::MeasuredPlan plan = measure(all[i], rigor, flags);
      file.write(fmt::format("{},{},{},{}\n", plan.length, plan.rigor, plan.bytes, plan.build.count()));
    }
    progress.show(i + 1, "", fmt::format("length {}", all[i]));
  }
  file.commit();
}

}  // namespace

Command add_measure(CLI::App& app) {
  const auto measure = std::make_shared<Measure>();
  CLI::App& sub =
      *app.add_subcommand("measure-plans", "Measure what making FFTW plans takes, as a table for larder trace");
  sub.footer(
      "Plans of lengths 16 to 65536, evenly spread on a logarithmic scale, with FFTW's rigors estimate and measure: "
      "takes\n"
      "minutes. Columns: length,rigor,bytes,build_ns.\n\n"
      "Example:\n"
      "  larder measure-plans -o plans.csv\n"
      "  larder trace zipf --costs measured --measured plans.csv -o zipf.csv");
  add_number(sub, "--lengths", measure->lengths, 1, "Lengths to plan");
  sub.add_option("-o,--output", measure->output, "Write the table to this file")->required()->type_name("FILE");
  return {&sub, [measure] { measure->run(); }};
}

}  // namespace larder::cli
