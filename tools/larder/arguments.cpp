// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments.hpp"

#include <fmt/format.h>

#include <charconv>
#include <larder/detail/cache_core.hpp>
#include <limits>
#include <string_view>
#include <system_error>

#include "core/environment.hpp"
#include "simulator/replay.hpp"
#include "simulator/trace.hpp"

namespace larder::cli {

using simulator::in_quotes;

std::int64_t number_from(const std::string& name, const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least) {
    throw CLI::ValidationError(name, fmt::format("{} will not do; give a whole number from {} to {}", in_quotes(text),
                                                 least, std::numeric_limits<std::int64_t>::max()));
  }
  return value;
}

CLI::Option* add_number(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t least,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [name, &value, least](const std::string& text) { value = number_from(name, text, least); }, help)
      ->type_name("N")
      ->default_str(std::to_string(value));
}

CLI::Option* add_max_idle(CLI::App& app, Budget& budget) {
  return app
      .add_option_function<std::string>(
          "--max-idle",
          [&budget](const std::string& text) {
            budget.max_idle = parse_count(text);
            if (!budget.max_idle) {
              throw CLI::ValidationError(
                  "--max-idle", fmt::format("{} is not a count; give one such as 64, or unlimited", in_quotes(text)));
            }
          },
          "Most idle handles to keep, or unlimited")
      ->type_name("N")
      ->default_str(std::to_string(default_max_idle));
}

CLI::Option* add_max_idle_bytes(CLI::App& app, Budget& budget) {
  return app
      .add_option_function<std::string>(
          "--max-idle-bytes",
          [&budget](const std::string& text) {
            budget.max_idle_bytes = parse_bytes(text);
            if (!budget.max_idle_bytes) {
              throw CLI::ValidationError(
                  "--max-idle-bytes",
                  fmt::format("{} is not a size; give one such as 1048576 or 256MiB, or unlimited", in_quotes(text)));
            }
          },
          "Most bytes that idle handles may hold, such as 1048576 or 256MiB, or unlimited")
      ->type_name("BYTES")
      ->default_str("unlimited");
}

const Policy& policy_named(const std::string& name) {
  const Policy* const policy = Policy::find(name);
  if (policy == nullptr) {
    throw CLI::ValidationError("--policy", fmt::format("{} is not a policy; give value, lru or gds", in_quotes(name)));
  }
  return *policy;
}

void add_policies(CLI::App& app, std::vector<Policy>& policies) {
  policies = {Policy::value, Policy::lru, Policy::gds};
  app.add_option_function<std::string>(
         "--policy",
         [&policies](const std::string& names) {
           policies.clear();
           for (const std::string& name : split_at_commas(names)) policies.push_back(policy_named(name));
         },
         "Policies, separated by commas")
      ->type_name("NAMES")
      ->default_str("value,lru,gds");
}

void TraceChoice::add_options(CLI::App& app) {
  app.add_option("TRACE", path, "Trace file")->required()->type_name("FILE");
  add_policies(app, policies);
  CLI::Option* const by_count = add_max_idle(app, budget_);
  add_max_idle_bytes(app, budget_)->excludes(by_count);
}

Budget TraceChoice::limits() const {
  Budget limits = budget_;
  if (!limits.max_idle && !limits.max_idle_bytes) limits.max_idle = default_max_idle;
  return limits;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void CacheChoice::add_options(CLI::App& app, bool with_bytes) {
  add_max_idle(app, budget_);
  if (with_bytes) add_max_idle_bytes(app, budget_);
  app.add_option_function<std::string>(
         "--policy",
         [this](const std::string& name) {
           keep_everything_ = name == "none";
           if (!keep_everything_) policy_ = policy_named(name);
         },
         "Which idle handle goes first: value, lru or gds; none keeps every handle, whatever the limits say")
      ->type_name("NAME")
      ->default_str(Policy::value.name);
}

CacheSettings CacheChoice::settle() const {
  if (keep_everything_) return {"none", simulator::exactly({}), {.max_live = Budget::unlimited}};
  const detail::Limits limits = detail::resolve(budget_, {.max_idle = default_max_idle});
  const Policy policy = policy_ ? *policy_ : detail::policy_from_environment().value_or(Policy::value);
  return {policy.name,
          {.max_idle = limits.idle,
           .max_idle_per_key = limits.idle_per_key,
           .max_idle_bytes = limits.idle_bytes,
           .max_idle_age = limits.idle_age},
          {.policy = policy}};
}

}  // namespace larder::cli
