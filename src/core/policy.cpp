// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/policy.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace larder {

namespace {

// A key's spare handles are asked for only while all newer ones are out at once; each further one is far less likely to be.
double spare_discount(std::size_t spare) noexcept {
  return std::ldexp(1.0, -4 * static_cast<int>(std::min<std::size_t>(spare, 64)));
}

double value_score(const EntryView& entry) noexcept {
  return entry.build_cost * entry.return_rate * spare_discount(entry.spare) / entry.size;
}

// Equal scores fall back to the order of return, which is all that LRU looks at.
double lru_score(const EntryView&) noexcept { return 0; }

double gds_score(const EntryView& entry) noexcept {
  return entry.inflation + entry.build_cost * spare_discount(entry.spare) / entry.size;
}

}  // namespace

constinit const Policy Policy::value{"value", value_score, Aging::with_return_rate, true};
constinit const Policy Policy::lru{"lru", lru_score, Aging::holds};
constinit const Policy Policy::gds{"gds", gds_score, Aging::holds};

const Policy* Policy::find(std::string_view name) noexcept {
  static constexpr std::array policies{&value, &lru, &gds};
  const auto* const found =
      std::find_if(policies.begin(), policies.end(), [name](const Policy* p) { return name == p->name; });
  return found == policies.end() ? nullptr : *found;
}

}  // namespace larder
