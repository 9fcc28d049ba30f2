// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints result files of the benchmarks as one table: a row per suite, arguments and threads, a column per peer with its
// time and the ratio to larder; then the targets and whether they were met.
//
// A time is that of one iteration as a running thread sees it: wall time x min(threads, processors) / iterations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "measurements.hpp"
#include "text_table.hpp"

namespace {

using larder::cli::Measurement;
using larder::cli::Measurements;
using larder::cli::short_time;
using larder::cli::TextTable;

struct Peer {
  std::string_view name;
  const char* title;
  const char* note;
};

constexpr std::array peers{
    Peer{"larder", "larder", "exclusive handles"},
    Peer{"larder_shared", "larder shared", "one handle per key, used by many threads at once"},
    Peer{"rocksdb_hyper_clock", "HyperClock",
         "shares every handle, never exclusive; 16-byte keys; the capacity counts handles in use and holds per shard, "
         "so it "
         "is not exact; concurrent misses of one key all build; no cost in its choice of victim"},
    Peer{"rocksdb_lru", "RocksDB LRU", "as HyperClock, with a mutex per shard"},
    Peer{"one_lock_lru", "one-lock LRU",
         "exclusive handles; builds and destroys with its only lock held; evicts by recency"},
    Peer{"tbb_lru", "TBB LRU",
         "shares every handle, never exclusive; copies the key at each request; destroys while all requests wait; "
         "evicts by "
         "recency"},
    Peer{"commons_pool2", "commons-pool2",
         "exclusive handles, in a Java machine of its own; bounds idle handles per key and live ones in all, not idle "
         "ones "
         "in all"},
    Peer{"floor", "floor", "two uncontended compare-exchanges, a hash, or threads with nothing to do: no cache at all"},
};

// The order of the table; a suite that is not named here comes last.
constexpr std::array<std::string_view, 16> suites{"hash_key.int",
                                                  "hash_key.plan",
                                                  "own_keys.int",
                                                  "own_keys.plan",
                                                  "same_4_keys.int",
                                                  "same_4_keys.plan",
                                                  "one_key.int.exclusive",
                                                  "one_key.plan.exclusive",
                                                  "one_key.int.shared",
                                                  "one_key.plan.shared",
                                                  "live_above_budget.long_leases",
                                                  "live_above_budget.busy_threads",
                                                  "churn.1_percent",
                                                  "churn.10_percent",
                                                  "hit_of_many",
                                                  "miss_of_many"};

struct Row {
  std::string title;
  std::string suite;
  std::string arguments;
  double number = 0;  // the argument or percentile, to sort by
  int threads = 1;
  bool is_time = true;
  std::map<std::string, double> cells;  // by peer
  std::optional<double> per_second;     // of larder, over all threads
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

class Table {
 public:
  void add(const Measurements& measurements) {
    processors_ = std::max(processors_, measurements.processors);
    for (const Measurement& each : measurements.all) add(each);
  }

  /// Benchmarks may have run in any order.
  void sort() {
    const auto place = [](const Row& row) {
      const auto rank = std::find(suites.begin(), suites.end(), row.suite) - suites.begin();
      return std::tuple(rank, row.suite, row.number, row.threads, !row.is_time);
    };
    std::stable_sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) { return place(a) < place(b); });
  }

  [[nodiscard]] std::string text(TextTable::Form form) const {
    std::vector<const Peer*> present;
    for (const Peer& peer : peers) {
      const auto has_peer = [&](const Row& row) { return row.cells.contains(std::string(peer.name)); };
      if (std::any_of(rows_.begin(), rows_.end(), has_peer)) present.push_back(&peer);
    }
    std::vector<std::string> heading{"suite"};
    for (const Peer* const peer : present) heading.emplace_back(peer->title);
    heading.emplace_back("larder per s");
    TextTable table(heading);
    for (const Row& row : rows_) {
      std::vector<std::string> cells{row.title + (row.threads > processors_ ? " *" : "")};
      for (const Peer* const peer : present) cells.push_back(cell(row, std::string(peer->name)));
      cells.push_back(row.per_second ? fmt::format("{:.3g} M", *row.per_second / 1e6) : "");
      table.add(std::move(cells));
    }
    std::string out = table.text(form);
    out += fmt::format("\n{} processors. In brackets: ratio to larder; above 1, larder is faster.\n", processors_);
    out += "* more threads than processors\n\n";
    for (const Peer* const peer : present) out += fmt::format("- {}: {}\n", peer->title, peer->note);
    return out + "\n" + targets(form);
  }

 private:
  void add(const Measurement& each) {
    const std::vector<std::string> parts = split(each.name, '/');
    if (parts.size() < 2) return;
    std::string arguments;
    for (std::size_t i = 2; i < parts.size(); ++i) {
      const std::string name = parts[i].substr(0, parts[i].find(':'));
      if (name == "idle" || name == "burst") arguments += " " + parts[i];
    }
    const double running = std::min(each.threads, std::max(processors_, 1));
    bool has_latencies = false;
    for (const auto& [counter, value] : each.counters) {
      if (!counter.ends_with("_ns")) continue;
      has_latencies = true;
      row(parts[0], arguments + " " + counter.substr(0, counter.size() - 3), each.threads, true).cells[parts[1]] =
          value;
    }
    if (!has_latencies) {
      Row& times = row(parts[0], arguments, each.threads, true);
      times.cells[parts[1]] = each.nanoseconds * running;
      if (parts[1] == "larder") times.per_second = 1e9 / each.nanoseconds;
    }
    for (const auto& [counter, value] : each.counters) {
      if (!counter.ends_with("_percent")) continue;
      row(parts[0], arguments + " " + counter.substr(0, counter.find('_')), each.threads, false).cells[parts[1]] =
          value;
    }
  }

  Row& row(const std::string& suite, const std::string& arguments, int threads, bool is_time) {
    std::string title = suite + arguments + fmt::format(" t{}", threads);
    const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.title == title; });
    if (found != rows_.end()) return *found;
    const std::size_t digit = arguments.find_first_of("0123456789");
    const double number = digit == std::string::npos ? 0 : std::stod(arguments.substr(digit));
    return rows_.emplace_back(Row{std::move(title), suite, arguments, number, threads, is_time, {}, {}});
  }

  [[nodiscard]] static std::string cell(const Row& row, const std::string& peer) {
    const auto found = row.cells.find(peer);
    if (found == row.cells.end()) return "";
    if (!row.is_time) return fmt::format("{:.2f} %", found->second);
    auto reference = row.cells.find("larder");
    if (reference == row.cells.end()) reference = row.cells.find("larder_shared");
    if (reference == row.cells.end()) return short_time(found->second);
    return fmt::format("{} ({:.2f})", short_time(found->second), found->second / reference->second);
  }

  [[nodiscard]] std::optional<double> at(std::string_view suite, std::string_view arguments, int threads,
                                         const std::string& peer) const {
    for (const Row& row : rows_) {
      if (row.suite != suite || row.arguments != arguments || row.threads != threads) continue;
      const auto found = row.cells.find(peer);
      if (found != row.cells.end()) return found->second;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string targets(TextTable::Form form) const {
    TextTable table({"target", "measured", "limit", "met"});
    const auto add_target = [&](const std::string& what, std::optional<double> a, std::optional<double> b,
                                double limit) {
      if (!a || !b) return;
      const double ratio = *a / *b;
      table.add({what, fmt::format("{:.2f}", ratio), fmt::format("<= {:.4g}", limit), ratio <= limit ? "yes" : "NO"});
    };
    for (const std::string suite : {"own_keys.int", "own_keys.plan"}) {
      const auto one = at(suite, "", 1, "larder");
      add_target(suite + ", 1 thread: larder / HyperClock", one, at(suite, "", 1, "rocksdb_hyper_clock"), 1.5);
      add_target(suite + ", 1 thread: larder / floor", one, at(suite, "", 1, "floor"), 2);
      if (processors_ < 16) continue;
      const auto sixteen = at(suite, "", 16, "larder");
      add_target(suite + ", 16 threads: larder / HyperClock", sixteen, at(suite, "", 16, "rocksdb_hyper_clock"),
                 1.0 / 3);
      add_target(suite + ", 16 threads: larder / one-lock LRU", sixteen, at(suite, "", 16, "one_lock_lru"), 0.01);
    }
    for (const std::string suite : {"live_above_budget.long_leases", "live_above_budget.busy_threads"}) {
      for (const int threads : {1, 2, 4, 8, 16}) {
        add_target(fmt::format("{}, {} threads: larder / RocksDB LRU", suite, threads),
                   at(suite, "", threads, "larder"), at(suite, "", threads, "rocksdb_lru"), 1);
      }
    }
    constexpr double microsecond = 1000;
    add_target("miss with 10000 idle handles, microseconds", at("miss_of_many", " idle:10000", 1, "larder"),
               microsecond, 50);
    return table.text(form);
  }

  int processors_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  Table table;
  auto form = TextTable::Form::plain;
  try {
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--markdown") {
        form = TextTable::Form::markdown;
      } else {
        table.add(larder::cli::read_measurements(argv[i]));
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "larder_bench_table: %s\n", error.what());
    return 2;
  }
  if (argc < 2) {
    std::fputs("usage: larder_bench_table [--markdown] FILE.json...\n", stderr);
    return 2;
  }
  table.sort();
  std::fputs(table.text(form).c_str(), stdout);
  return 0;
}
