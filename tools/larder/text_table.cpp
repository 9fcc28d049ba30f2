// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace larder::cli {

std::string TextTable::text(Form form) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < heading_.size(); ++column) {
    std::size_t width = std::max<std::size_t>(heading_[column].size(), 3);
    for (const auto& row : rows_) width = std::max(width, row[column].size());
    widths.push_back(width);
  }
  std::string out;
  const auto write = [&](const std::vector<std::string>& row) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (form == Form::markdown) out += column == 0 ? "| " : " | ";
      if (form == Form::plain && column > 0) out += "  ";
      if (column == 0) {
        fmt::format_to(std::back_inserter(out), "{:<{}}", row[column], widths[column]);
      } else {
        fmt::format_to(std::back_inserter(out), "{:>{}}", row[column], widths[column]);
      }
    }
    out += form == Form::markdown ? " |\n" : "\n";
  };
  write(heading_);
  if (form == Form::markdown) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      out += column == 0 ? "|:" : "|";
      out += std::string(widths[column], '-') + (column == 0 ? "-" : "-:");
    }
    out += "|\n";
  }
  for (const auto& row : rows_) write(row);
  return out;
}

std::string short_time(double nanoseconds) {
  static constexpr std::array units{"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  // 999.5 would be written with four digits.
  while (unit + 1 < units.size() && nanoseconds >= 999.5) {
    nanoseconds /= 1000;
    ++unit;
  }
  const int decimals = nanoseconds < 9.995 ? 2 : nanoseconds < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", nanoseconds, decimals, units[unit]);
}

}  // namespace larder::cli
