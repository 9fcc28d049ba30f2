// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <larder/error.hpp>
#include <numeric>
#include <utility>

namespace larder::simulator {

namespace {

// Times stay far inside 63 bits of nanoseconds, and tables of keys inside memory.
constexpr std::uint64_t most_requests = 1'000'000'000'000;
constexpr std::uint64_t most_keys = 100'000'000;

constexpr std::int64_t ns_between_requests = 1'000'000;
constexpr std::uint64_t longest_overlap = 16;  // requests

constexpr double popularity = 0.9;  // Zipf's exponent

constexpr std::array<std::pair<Pattern, std::string_view>, patterns.size()> pattern_names{
    {{Pattern::zipf, "zipf"},
     {Pattern::drift, "drift"},
     {Pattern::jobs, "jobs"},
     {Pattern::scan, "scan"},
     {Pattern::hotcold, "hotcold"},
     {Pattern::loop, "loop"},
     {Pattern::phases, "phases"},
     {Pattern::lengths, "lengths"}}};

std::uint64_t part_of(std::uint64_t whole, std::uint64_t divisor) noexcept {
  return std::max<std::uint64_t>(whole / divisor, 1);
}

class Popular final : public KeySequence {
 public:
  explicit Popular(std::uint64_t keys) : ranks_(keys, popularity) {}
  std::uint64_t next(Random& random) override { return ranks_.draw(random); }

 private:
  Zipf ranks_;
};

class Drift final : public KeySequence {
 public:
  explicit Drift(std::uint64_t keys) : ranks_(keys, popularity), key_of_rank_(keys) {
    std::iota(key_of_rank_.begin(), key_of_rank_.end(), 0);
  }
  std::uint64_t next(Random& random) override {
    if (random.below(requests_between_moves) == 0) {
      const std::uint64_t popular = ranks_.draw(random);
      std::swap(key_of_rank_[popular], key_of_rank_[random.below(key_of_rank_.size())]);
    }
    return key_of_rank_[ranks_.draw(random)];
  }

 private:
  static constexpr std::uint64_t requests_between_moves = 25;  // on average

  Zipf ranks_;
  std::vector<std::uint64_t> key_of_rank_;
};

class Jobs final : public KeySequence {
 public:
  explicit Jobs(std::uint64_t keys) : keys_(keys) {}
  std::uint64_t next(Random& random) override {
    Job& job = jobs_[random.below(jobs_.size())];
    if (job.rounds_left == 0) job = started(random);
    const std::uint64_t key = job.keys[job.position];
    if (++job.position == job.keys.size()) {
      job.position = 0;
      --job.rounds_left;
    }
    return key;
  }

 private:
  struct Job {
    std::vector<std::uint64_t> keys;
    std::uint64_t rounds_left = 0;
    std::size_t position = 0;
  };

  [[nodiscard]] Job started(Random& random) const {
    const std::uint64_t set = random.between(part_of(keys_, 40), part_of(keys_, 8));
    return {sample(random, set, keys_), random.between(4, 24), 0};
  }

  std::uint64_t keys_;
  std::array<Job, 4> jobs_;
};

class Scan final : public KeySequence {
 public:
  Scan(std::uint64_t hot, std::uint64_t cold) : hot_(hot), cold_(cold), ranks_(hot, popularity), unused_(hot) {}
  std::uint64_t next(Random& random) override {
    const std::uint64_t at = position_++;
    if (position_ == hot_ + cold_) position_ = 0;
    return at < hot_ ? ranks_.draw(random) : unused_++;
  }

 private:
  std::uint64_t hot_;
  std::uint64_t cold_;
  Zipf ranks_;
  std::uint64_t unused_;
  std::uint64_t position_ = 0;
};

class HotCold final : public KeySequence {
 public:
  HotCold(std::uint64_t hot, std::uint64_t cold) : hot_(hot), cold_(cold), unused_(hot) {}
  std::uint64_t next(Random& /*random*/) override {
    const std::uint64_t at = position_++;
    if (position_ == hot_ + cold_) position_ = 0;
    return at < hot_ ? at : unused_++;
  }

 private:
  std::uint64_t hot_;
  std::uint64_t cold_;
  std::uint64_t unused_;
  std::uint64_t position_ = 0;
};

class Loop final : public KeySequence {
 public:
  explicit Loop(std::uint64_t keys) : keys_(keys) {}
  std::uint64_t next(Random& /*random*/) override {
    const std::uint64_t key = position_++;
    if (position_ == keys_) position_ = 0;
    return key;
  }

 private:
  std::uint64_t keys_;
  std::uint64_t position_ = 0;
};

class Phases final : public KeySequence {
 public:
  explicit Phases(std::uint64_t keys) : keys_(keys), set_size_(part_of(keys, 4)), ranks_(set_size_, popularity) {}
  std::uint64_t next(Random& random) override {
    if (requests_left_ == 0) {
      working_set_ = sample(random, set_size_, keys_);
      requests_left_ = set_size_ * uses_in_phase;
    }
    --requests_left_;
    return working_set_[ranks_.draw(random)];
  }

 private:
  static constexpr std::uint64_t uses_in_phase = 8;  // of a key of the working set, on average

  std::uint64_t keys_;
  std::uint64_t set_size_;
  Zipf ranks_;
  std::vector<std::uint64_t> working_set_;
  std::uint64_t requests_left_ = 0;
};

class Lengths final : public KeySequence {
 public:
  explicit Lengths(std::uint64_t keys) : median_(static_cast<double>(keys) / 4) {}
  std::uint64_t next(Random& random) override {
    const double drawn = median_ * power_of_two(spread * random.normal());
    return multiple * std::max<std::uint64_t>(static_cast<std::uint64_t>(std::llround(drawn)), 1);
  }

 private:
  static constexpr std::uint64_t multiple = 8;
  static constexpr double spread = 1;  // octaves

  double median_;
};

/// The settings with hot and cold set, all of them checked.
TraceSettings completed(TraceSettings settings) {
  const auto check = [](const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value >= least && value <= most) return;
    throw InvalidArgument(fmt::format("{} {} is out of range; give {} to {}", name, value, least, most));
  };
  check("requests", settings.requests, 0, most_requests);
  check("keys", settings.keys, 1, most_keys);
  if (!(settings.overlap >= 0 && settings.overlap <= 1)) {
    throw InvalidArgument(fmt::format("overlap {} is not a share; give 0 to 1", settings.overlap));
  }
  if (!settings.hot) settings.hot = settings.pattern == Pattern::hotcold ? part_of(settings.keys, 2) : settings.keys;
  if (!settings.cold) settings.cold = part_of(*settings.hot, 4);
  check("hot", *settings.hot, 1, most_keys);
  check("cold", *settings.cold, 0, most_requests);
  return settings;
}

std::unique_ptr<KeySequence> sequence_of(const TraceSettings& settings) {
  switch (settings.pattern) {
    case Pattern::zipf: return std::make_unique<Popular>(settings.keys);
    case Pattern::drift: return std::make_unique<Drift>(settings.keys);
    case Pattern::jobs: return std::make_unique<Jobs>(settings.keys);
    case Pattern::scan: return std::make_unique<Scan>(*settings.hot, *settings.cold);
    case Pattern::hotcold: return std::make_unique<HotCold>(*settings.hot, *settings.cold);
    case Pattern::loop: return std::make_unique<Loop>(settings.keys);
    case Pattern::phases: return std::make_unique<Phases>(settings.keys);
    case Pattern::lengths: return std::make_unique<Lengths>(settings.keys);
  }
  throw InvalidArgument(fmt::format("pattern {} does not exist", static_cast<int>(settings.pattern)));
}

enum Stream : std::uint64_t { cost_stream, key_stream, lease_stream };

}  // namespace

std::string_view to_string(Pattern pattern) noexcept { return pattern_names[static_cast<std::size_t>(pattern)].second; }

std::optional<Pattern> find_pattern(std::string_view name) noexcept {
  for (const auto& [pattern, its_name] : pattern_names) {
    if (its_name == name) return pattern;
  }
  return std::nullopt;
}

TraceGenerator::TraceGenerator(const TraceSettings& settings)
    : settings_(completed(settings)),
      costs_(settings_.costs, stream_seed(settings_.seed, cost_stream), settings_.measured),
      keys_(stream_seed(settings_.seed, key_stream)),
      leases_(stream_seed(settings_.seed, lease_stream)),
      sequence_(sequence_of(settings_)) {}

bool TraceGenerator::next(TraceRow& row) {
  if (made_ == settings_.requests) return false;
  const std::uint64_t key = sequence_->next(keys_);
  const bool is_length = settings_.pattern == Pattern::lengths;
  const HandleCost cost = is_length ? costs_.of_length(key) : costs_.of_key(key);

  auto lease = static_cast<std::int64_t>(leases_.below(ns_between_requests));
  if (leases_.uniform() < settings_.overlap) {
    lease += ns_between_requests * static_cast<std::int64_t>(leases_.between(1, longest_overlap - 1));
  }

  row.time = std::chrono::nanoseconds(ns_between_requests * static_cast<std::int64_t>(made_++));
  row.key = fmt::format("{}{}", is_length ? 'n' : 'k', key);
  row.bytes = cost.bytes;
  row.build = cost.build;
  row.lease = std::chrono::nanoseconds(lease);
  return true;
}

std::vector<TraceRow> generate(const TraceSettings& settings) {
  TraceGenerator generator(settings);
  std::vector<TraceRow> rows;
  for (TraceRow row; generator.next(row);) rows.push_back(row);
  return rows;
}

}  // namespace larder::simulator
