// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace larder::detail {

namespace {

template <class Parse>
auto read(const char* variable, const char* expected, Parse&& parse) -> decltype(parse(std::string_view{})) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  auto value = parse(std::string_view(text));
  if (!value) {
    std::fprintf(stderr, "larder: ignoring %s='%s': expected %s; the default is used\n", variable, text, expected);
  }
  return value;
}

constexpr const char* a_count = "a count such as 64, or unlimited";

}  // namespace

void fill_from_environment(Budget& budget) {
  if (!budget.max_idle) budget.max_idle = read("LARDER_MAX_IDLE", a_count, parse_count);
  if (!budget.max_idle_per_key) budget.max_idle_per_key = read("LARDER_MAX_IDLE_PER_KEY", a_count, parse_count);
  if (!budget.max_idle_bytes) {
    budget.max_idle_bytes =
        read("LARDER_MAX_IDLE_BYTES", "a size such as 1048576 or 256MiB, or unlimited", parse_bytes);
  }
  if (!budget.max_idle_age) {
    budget.max_idle_age =
        read("LARDER_MAX_IDLE_AGE", "a duration such as 250ms, 30s or 5min, or unlimited", parse_duration);
  }
}

std::optional<std::size_t> max_live_from_environment() {
  return read("LARDER_MAX_LIVE", "a count of at least 1, or unlimited", [](std::string_view text) {
    const std::optional<std::size_t> count = parse_count(text);
    return count == std::size_t{0} ? std::nullopt : count;
  });
}

std::optional<Policy> policy_from_environment() {
  return read("LARDER_POLICY", "value, lru or gds", [](std::string_view name) -> std::optional<Policy> {
    const Policy* const found = Policy::find(name);
    if (found == nullptr) return std::nullopt;
    return *found;
  });
}

}  // namespace larder::detail
