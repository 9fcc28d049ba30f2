// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder hotcold: a few lengths used all the time beside lengths used once. Shows whether the hot ones are kept.
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>

#include "arguments.hpp"
#include "backend.hpp"
#include "report.hpp"

namespace larder::cli {

namespace {

constexpr std::int64_t shortest_length = 16;

struct HotCold {
  std::string backend = "fftw";
  std::int64_t hot = 16;
  std::int64_t cold = 4;
  std::int64_t iterations = 200;
  CacheChoice cache;
  std::optional<std::string> json;

  void run() const;
};

std::int64_t last_length(const HotCold& run) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - shortest_length;
  if (run.hot > most || run.cold > (most - run.hot) / run.iterations) {
    throw BadArguments(fmt::format("--hot {} --cold {} --iterations {}: too many lengths; give smaller numbers",
                                   run.hot, run.cold, run.iterations));
  }
  return shortest_length + run.hot + run.cold * run.iterations;
}

void HotCold::run() const {
  const JsonFile file(json);
  const CacheSettings settings = cache.settle();
  const std::unique_ptr<Backend> plans =
      open_backend(backend, {.cache = settings, .largest_length = last_length(*this)});

  std::int64_t hot_builds = 0;
  std::int64_t unseen = shortest_length + hot;
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (std::int64_t h = 0; h < hot; ++h) {
      if (plans->use(shortest_length + h)) ++hot_builds;
    }
    for (std::int64_t c = 0; c < cold; ++c) plans->use(unseen++);
  }

  const Stats stats = plans->stats();
  fmt::print("{} hot and {} cold keys, {} iterations, max idle {}, policy {}\n", hot, cold, iterations,
             limit_in_words(*settings.budget.max_idle), settings.policy_name);
  fmt::print("hot keys built {} times, ideal {}: {} rebuilds\n", hot_builds, hot, hot_builds - hot);
  fmt::print("all keys built {} times in {}\n", stats.builds, time_in_words(stats.build_time));
  file.write({{"hot", hot},
              {"cold", cold},
              {"iterations", iterations},
              {"max_idle", limit_to_json(*settings.budget.max_idle)},
              {"policy", settings.policy_name},
              {"hot_builds", hot_builds},
              {"ideal_hot_builds", hot},
              {"total_builds", stats.builds},
              {"build_ns", stats.build_time.count()}});
}

}  // namespace

Command add_hotcold(CLI::App& app) {
  const auto hotcold = std::make_shared<HotCold>();
  CLI::App& sub = *app.add_subcommand("hotcold", "Use a few plans again and again beside plans used once");
  sub.footer(
      "Each iteration uses every hot key once, then as many keys never seen before as --cold says. A cache that keeps "
      "what\n"
      "is used again builds each hot key once.\n\n"
      "Example: 16 hot and 4 cold keys in an LRU cache of 64\n"
      "  larder hotcold --backend simulated --hot 16 --cold 4 --max-idle 64 --policy lru");
  add_backend(sub, hotcold->backend);
  add_number(sub, "--hot", hotcold->hot, 1, "Keys used in every iteration");
  add_number(sub, "--cold", hotcold->cold, 0, "Keys never seen before, in each iteration");
  add_number(sub, "--iterations", hotcold->iterations, 1, "Iterations");
  hotcold->cache.add_options(sub, false);
  sub.add_option("--json", hotcold->json, "Write the result to this file")->type_name("FILE");
  return {&sub, [hotcold] { hotcold->run(); }};
}

}  // namespace larder::cli
