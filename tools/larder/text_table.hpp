// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TextTable: rows of text in columns, for a terminal or as Markdown. The first column is a name, the others are numbers.
#pragma once

#include <string>
#include <vector>

namespace larder::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heading) : heading_(std::move(heading)) {}

  /// @param row  as many cells as the heading
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  enum class Form : bool { plain, markdown };
  [[nodiscard]] std::string text(Form form) const;

 private:
  std::vector<std::string> heading_;
  std::vector<std::vector<std::string>> rows_;
};

/// A time with three digits and its unit: "12.3 ns", "4.56 us".
[[nodiscard]] std::string short_time(double nanoseconds);

}  // namespace larder::cli
