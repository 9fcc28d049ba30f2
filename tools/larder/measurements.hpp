// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurements: what a JSON file of Google Benchmark says, one entry per benchmark.
//
// Repetitions are reduced to their median. A benchmark counts the time it was told to measure by: its name ends in
// real_time or manual_time, else it is processor time.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace larder::cli {

/// The file cannot be read or is not of Google Benchmark; the message is one line that names the file.
class BadBenchmarkFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Measurement {
  std::string name;  ///< without what tells repetitions apart
  int threads = 1;
  double nanoseconds = 0;                  ///< per iteration, over all threads together
  std::map<std::string, double> counters;  ///< the benchmark's own
};

struct Measurements {
  int processors = 0;            ///< of the machine; 0 when the file does not say
  std::vector<Measurement> all;  ///< in the order of the file
};

/// @throws BadBenchmarkFile
[[nodiscard]] Measurements read_measurements(const std::string& path);

}  // namespace larder::cli
