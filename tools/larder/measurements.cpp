// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measurements.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace larder::cli {

namespace {

using nlohmann::json;

struct Samples {
  std::string name;
  int threads = 1;
  std::vector<double> nanoseconds;
  std::map<std::string, std::vector<double>> counters;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double nanoseconds_in(const std::string& unit) {
  static const std::unordered_map<std::string, double> units{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto found = units.find(unit);
  if (found == units.end()) throw std::runtime_error("time unit '" + unit + "' is none of ns, us, ms, s");
  return found->second;
}

/// Whether the entry is one repetition, or the median where only aggregates were reported.
bool counts(const json& entry, bool only_aggregates) {
  if (entry.value("error_occurred", false)) return false;
  const bool aggregate = entry.value("run_type", "iteration") == "aggregate";
  return only_aggregates ? aggregate && entry.value("aggregate_name", "") == "median" : !aggregate;
}

void add_sample(Samples& samples, const json& entry) {
  static const std::set<std::string> own_fields{"family_index", "per_family_instance_index",
                                                "repetitions",  "repetition_index",
                                                "threads",      "iterations",
                                                "real_time",    "cpu_time"};
  const bool wall =
      samples.name.find("/real_time") != std::string::npos || samples.name.find("/manual_time") != std::string::npos;
  const double time = entry.at(wall ? "real_time" : "cpu_time").get<double>();
  if (!std::isfinite(time) || time < 0) throw std::runtime_error("the time of '" + samples.name + "' is not a time");
  samples.threads = entry.value("threads", 1);
  samples.nanoseconds.push_back(time * nanoseconds_in(entry.value("time_unit", "ns")));
  for (const auto& [field, value] : entry.items()) {
    if (value.is_number() && !own_fields.contains(field)) samples.counters[field].push_back(value.get<double>());
  }
}

/// Google Benchmark writes counters that are no number as NaN, Infinity and -Infinity, which JSON does not have.
std::string with_nulls(const std::string& text) {
  std::string out;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t skip = 0;
    if (!in_string) {
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity", "-NaN"}) {
        if (text.compare(at, word.size(), word) == 0) skip = word.size();
      }
    }
    if (skip > 0) {
      out += "null";
      at += skip;
      continue;
    }
    if (in_string && text[at] == '\\' && at + 1 < text.size()) {
      out += text[at++];
    } else if (text[at] == '"') {
      in_string = !in_string;
    }
    out += text[at++];
  }
  return out;
}

Measurements measurements_of(const json& file) {
  const json& entries = file.at("benchmarks");
  const auto is_iteration = [](const json& entry) { return entry.value("run_type", "iteration") == "iteration"; };
  const bool only_aggregates = std::none_of(entries.begin(), entries.end(), is_iteration);
  std::vector<Samples> samples;
  std::unordered_map<std::string, std::size_t> index;
  for (const json& entry : entries) {
    if (!counts(entry, only_aggregates)) continue;
    const std::string name = entry.contains("run_name") ? entry.at("run_name") : entry.at("name");
    const auto [found, is_new] = index.try_emplace(name, samples.size());
    if (is_new) samples.push_back({.name = name, .threads = 1, .nanoseconds = {}, .counters = {}});
    add_sample(samples[found->second], entry);
  }
  Measurements result;
  if (file.contains("context")) result.processors = file.at("context").value("num_cpus", 0);
  for (const Samples& each : samples) {
    Measurement measurement{each.name, each.threads, median(each.nanoseconds), {}};
    for (const auto& [counter, values] : each.counters) measurement.counters.emplace(counter, median(values));
    result.all.push_back(std::move(measurement));
  }
  return result;
}

}  // namespace

Measurements read_measurements(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // Opening a directory succeeds; only reading it fails.
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    const int error = errno;
    throw BadBenchmarkFile(path + ": " + (error != 0 ? std::generic_category().message(error) : "is empty"));
  }
  Measurements result;
  try {
    result = measurements_of(json::parse(with_nulls({std::istreambuf_iterator<char>(file), {}})));
  } catch (const std::exception& error) {
    throw BadBenchmarkFile(path + ": not a JSON file of Google Benchmark: " + error.what());
  }
  if (result.all.empty()) throw BadBenchmarkFile(path + ": holds no benchmark that ran to its end");
  return result;
}

}  // namespace larder::cli
