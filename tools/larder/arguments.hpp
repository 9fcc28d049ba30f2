// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands share in reading their arguments.
//
// Every value is checked while the command line is parsed, before anything is opened or run, and a bad one is reported
// with the option, the value and what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <larder/budget.hpp>
#include <larder/options.hpp>
#include <larder/policy.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace larder::cli {

/// The arguments, alone or together, make no sense: exit code 2.
class BadArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A subcommand as main() sees it.
struct Command {
  const CLI::App* app;
  std::function<void()> run;
};

[[nodiscard]] Command add_churn(CLI::App& app);
[[nodiscard]] Command add_hotcold(CLI::App& app);
[[nodiscard]] Command add_replay(CLI::App& app);
[[nodiscard]] Command add_compare(CLI::App& app);
[[nodiscard]] Command add_doctor(CLI::App& app);
[[nodiscard]] Command add_trace(CLI::App& app);
[[nodiscard]] Command add_suite(CLI::App& app);
[[nodiscard]] Command add_measure(CLI::App& app);
[[nodiscard]] Command add_execute(CLI::App& app);

/// Adds an option that takes a whole number of at least `least`; `value` holds the default.
CLI::Option* add_number(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t least,
                        const std::string& help);

/// Adds --max-idle and --max-idle-bytes, which set the fields of `budget`.
CLI::Option* add_max_idle(CLI::App& app, Budget& budget);
CLI::Option* add_max_idle_bytes(CLI::App& app, Budget& budget);

/// The limit on idle handles where neither the command line nor the environment gives one.
inline constexpr std::size_t default_max_idle = 64;

/// The policy of that name. @throws CLI::ValidationError
[[nodiscard]] const Policy& policy_named(const std::string& name);
/// Adds --policy, which takes names separated by commas; all built-in policies unless told.
void add_policies(CLI::App& app, std::vector<Policy>& policies);

/// A trace file, and the policies and limits of the caches that get its requests.
struct TraceChoice {
  std::string path;
  std::vector<Policy> policies;

  void add_options(CLI::App& app);
  /// `default_max_idle` handles when no limit was given.
  [[nodiscard]] Budget limits() const;

 private:
  Budget budget_;
};

/// What stands between the commas; at least one, perhaps empty.
[[nodiscard]] std::vector<std::string> split_at_commas(std::string_view text);

/// A whole number of at least `least`, given for the option `name`. @throws CLI::ValidationError
[[nodiscard]] std::int64_t number_from(const std::string& name, const std::string& text, std::int64_t least);

/// Policy and limits that one cache is run with; every limit is set.
struct CacheSettings {
  std::string policy_name;
  Budget budget;
  Options options;
};

/// The command line's choice of cache, before environment and defaults fill in what is left out.
class CacheChoice {
 public:
  /// Adds --policy and --max-idle, and --max-idle-bytes when `with_bytes`.
  void add_options(CLI::App& app, bool with_bytes);

  /// The settings in effect: the command line's, else the environment's (LARDER_MAX_IDLE, ...), else the defaults.
  [[nodiscard]] CacheSettings settle() const;

 private:
  Budget budget_;
  std::optional<Policy> policy_;
  bool keep_everything_ = false;
};

}  // namespace larder::cli
