// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder execute: the requests of a trace, made of real FFTW plans.
//
// A request for b bytes leases a complex transform that holds about b bytes by the back end's estimate, runs it once and
// keeps the lease as long as the trace says, in the trace's time: until the request that comes after its end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <larder/fft/fftw.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "report.hpp"
#include "simulator/open_leases.hpp"
#include "simulator/replay.hpp"

namespace larder::cli {

namespace {

// A longer transform would take minutes to plan.
constexpr std::int64_t longest = std::int64_t{1} << 22;

// The inverse of the back end's estimate for one complex transform.
constexpr std::size_t bytes_per_element = 16;
constexpr std::size_t bytes_beside = 4096;

std::int64_t length_of(const simulator::TraceRow& row) {
  const std::size_t elements = row.bytes > bytes_beside ? (row.bytes - bytes_beside) / bytes_per_element : 0;
  const auto length = static_cast<std::int64_t>(std::min<std::size_t>(elements, longest + 1));
  if (length > longest) {
    throw InvalidArgument(
        fmt::format("a plan of {} bytes would have more than {} elements; give smaller ones", row.bytes, longest));
  }
  return std::max<std::int64_t>(length, 1);
}

struct Execute {
  TraceChoice trace;
  bool measure = false;
  bool forget_wisdom = false;
  std::optional<std::string> json;

  void run() const;
  void run(const Policy& policy, const Budget& limits, nlohmann::ordered_json& rows) const;
};

class ForgetWisdom final : public Listener {
 public:
  void on_build(const KeyRef& /*key*/, std::chrono::nanoseconds /*build_cost*/) override { fftw_forget_wisdom(); }
};

void Execute::run(const Policy& policy, const Budget& limits, nlohmann::ordered_json& rows) const {
  using simulator::TraceReader;
  TraceReader reader(trace.path);
  ForgetWisdom forget;
  fftw_forget_wisdom();
  fft::fftw::PlanCache plans(
      simulator::exactly(limits),
      {.policy = policy, .max_live = Budget::unlimited, .listener = forget_wisdom ? &forget : nullptr});
  simulator::OpenLeases<decltype(plans.acquire(std::declval<fft::fftw::PlanKey>()))> open;
  std::vector<std::complex<double>> in;
  std::vector<std::complex<double>> out;
  std::uint64_t requests = 0;
  const auto start = std::chrono::steady_clock::now();
  for (simulator::TraceRow row; reader.next(row); ++requests) {
    open.end_until(row.time, [](std::chrono::nanoseconds) {});
    std::int64_t length = 0;
    try {
      length = length_of(row);
    } catch (const InvalidArgument& fault) {
      reader.reject(fault.what());
    }
    if (in.size() < static_cast<std::size_t>(length)) {
      in.assign(static_cast<std::size_t>(length), 1.0);
      out.assign(static_cast<std::size_t>(length), 0.0);
    }
    auto plan =
        plans.acquire(fft::fftw::PlanKey::for_arrays(fft::PlanSpec({.lengths = {length}}), in.data(), out.data(),
                                                     {.flags = measure ? FFTW_MEASURE : FFTW_ESTIMATE}));
    fft::fftw::execute(plan, in.data(), out.data());
    open.add(row.lease_end(), std::move(plan));
  }
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
  const Stats stats = plans.stats();
  fmt::print("{:<8}  {:>12}  {:>12}  {:>12}  {:>12}\n", policy.name, requests, stats.builds,
             time_in_words(stats.build_time), time_in_words(wall));
  rows.push_back({{"policy", policy.name},
                  {"requests", requests},
                  {"builds", stats.builds},
                  {"build_ns", stats.build_time.count()},
                  {"wall_ns", wall.count()}});
}

void Execute::run() const {
  const JsonFile file(json);
  const Budget limits = trace.limits();
  auto rows = nlohmann::ordered_json::array();
  fmt::print("{:<8}  {:>12}  {:>12}  {:>12}  {:>12}\n", "policy", "requests", "builds", "build time", "wall time");
  for (const Policy& policy : trace.policies) run(policy, limits, rows);
  file.write(rows);
}

}  // namespace

Command add_execute(CLI::App& app) {
  const auto execute = std::make_shared<Execute>();
  CLI::App& sub = *app.add_subcommand("execute", "Make the requests of a trace of real FFTW plans, under each policy");
  sub.footer(
      "Each request leases a complex transform that holds about the bytes of its line, and runs it once; build_ns is\n"
      "ignored: a build takes what it takes. The policies run one after another. FFTW remembers what it learned from\n"
      "planning (its wisdom), so that building a plan again is cheaper than the first time; --forget-wisdom stops "
      "that.\n\n"
      "Example:\n"
      "  larder trace jobs --costs measured -o jobs.csv\n"
      "  larder execute jobs.csv --measure --max-idle-bytes 2MiB");
  execute->trace.add_options(sub);
  sub.add_flag("--measure", execute->measure, "Plan with FFTW_MEASURE; FFTW_ESTIMATE without");
  sub.add_flag("--forget-wisdom", execute->forget_wisdom, "Let FFTW forget after each build what it learned");
  sub.add_option("--json", execute->json, "Write the results to this file")->type_name("FILE");
  return {&sub, [execute] { execute->run(); }};
}

}  // namespace larder::cli
