// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder churn: many plans, each of another length, used once. Shows whether memory stays inside the bound.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "backend.hpp"
#include "report.hpp"

namespace larder::cli {

namespace {

struct Churn {
  std::string backend = "fftw";
  std::int64_t first = 16;
  std::int64_t step = 2;
  std::int64_t count = 6000;
  std::int64_t batch = 1;
  std::int64_t every = 50;
  CacheChoice cache;
  std::optional<std::string> wisdom;
  std::optional<std::string> json;

  void run() const;
};

struct Sample {
  std::int64_t step;  ///< plans used so far
  std::size_t idle;
  std::size_t idle_keys;
  std::size_t idle_bytes;
  std::uint64_t memory_bytes;
};

/// The length of the last plan; every shorter one then fits too.
std::int64_t last_length(const Churn& churn) {
  if (churn.step != 0 && churn.count - 1 > (std::numeric_limits<std::int64_t>::max() - churn.first) / churn.step) {
    throw BadArguments(fmt::format("--first {} --step {} --count {}: the last length is too large; give smaller ones",
                                   churn.first, churn.step, churn.count));
  }
  return churn.first + (churn.count - 1) * churn.step;
}

void Churn::run() const {
  const JsonFile file(json);
  const CacheSettings settings = cache.settle();
  const std::unique_ptr<Backend> plans = open_backend(
      backend, {.cache = settings, .largest_length = last_length(*this), .batch = batch, .wisdom = wisdom});

  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(count / every + 2));
  {
    Progress progress(static_cast<std::uint64_t>(count));
    progress.heading(fmt::format("{:>8}  {:>16}  {:>9}  {:>12}  {:>12}", "step", plans->memory_name(), "idle keys",
                                 "idle handles", "idle bytes"));
    const auto sample = [&](std::int64_t used) {
      const Stats now = plans->stats();
      const std::uint64_t memory = plans->memory_bytes();
      samples.push_back({used, now.idle, now.idle_keys, now.idle_bytes, memory});
      progress.show(
          static_cast<std::uint64_t>(used),
          fmt::format("{:>8}  {:>16}  {:>9}  {:>12}  {:>12}", used, size_in_words(samples.back().memory_bytes),
                      now.idle_keys, now.idle, size_in_words(now.idle_bytes)),
          fmt::format("{}/{}  {} {}  {} idle handles", used, count, size_in_words(memory), plans->memory_name(),
                      now.idle));
    };

    sample(0);
    for (std::int64_t i = 0; i < count; ++i) {
      plans->use(first + i * step);
      const std::int64_t done = i + 1;
      if (done % every == 0 || done == count) sample(done);
    }
  }

  const Stats stats = plans->stats();
  fmt::print("{} plans used, {} built in {}, {} evicted; {} idle (limit {}, policy {})\n", count, stats.builds,
             time_in_words(stats.build_time), stats.evicted(), stats.idle, limit_in_words(*settings.budget.max_idle),
             settings.policy_name);
  fmt::print("{}: {} before, {} after\n", plans->memory_name(), size_in_words(samples.front().memory_bytes),
             size_in_words(samples.back().memory_bytes));
  auto samples_json = nlohmann::ordered_json::array();
  for (const Sample& each : samples) {
    samples_json.push_back({{"step", each.step},
                            {"idle", each.idle},
                            {"idle_keys", each.idle_keys},
                            {"idle_bytes", each.idle_bytes},
                            {"memory_bytes", each.memory_bytes}});
  }
  file.write({{"backend", backend},
              {"policy", settings.policy_name},
              {"max_idle", limit_to_json(*settings.budget.max_idle)},
              {"max_idle_bytes", limit_to_json(*settings.budget.max_idle_bytes)},
              {"samples", samples_json},
              {"stats", to_json(stats)}});
}

}  // namespace

Command add_churn(CLI::App& app) {
  const auto churn = std::make_shared<Churn>();
  CLI::App& sub = *app.add_subcommand("churn", "Use many plans, each of another length, and watch memory");
  sub.footer(
      "Plan i has length first + i * step. It is leased, run once and returned. Lines and JSON samples are taken "
      "before the\n"
      "first plan, after every --every plans, and after the last one.\n\n"
      "Example: 6000 FFTW plans with at most 64 kept, then the same without a bound\n"
      "  larder churn --backend fftw --count 6000 --max-idle 64 --json bounded.json\n"
      "  larder churn --backend fftw --count 6000 --policy none --json unbounded.json");
  add_backend(sub, churn->backend);
  add_number(sub, "--first", churn->first, 1, "Length of the first plan");
  add_number(sub, "--step", churn->step, 0, "How much longer each next plan is");
  add_number(sub, "--count", churn->count, 1, "Number of plans");
  add_number(sub, "--batch", churn->batch, 1, "Transforms in one plan");
  churn->cache.add_options(sub, true);
  sub.add_option("--wisdom", churn->wisdom, "FFTW wisdom to read first")->type_name("FILE");
  add_number(sub, "--every", churn->every, 1, "Plans between two lines");
  sub.add_option("--json", churn->json, "Write samples and statistics to this file")->type_name("FILE");
  return {&sub, [churn] { churn->run(); }};
}

}  // namespace larder::cli
