// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// larder and its peers in one program, so that ratios come from one run. Takes the options of Google Benchmark.
#include <benchmark/benchmark.h>

#include "suites.hpp"

int main(int argc, char** argv) {
  using namespace larder::bench;
  register_floor();
  register_hits();
  register_budget();
  register_large();
  register_short_threads();
  register_slow_destroys();
  register_deferred();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
