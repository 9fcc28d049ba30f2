// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Line charts as an SVG picture: plain text without scripts, in colours for a light or a dark page as the viewer prefers.
#pragma once

#include <string>
#include <vector>

namespace larder::cli {

/// One chart of a picture, a line for each series.
struct Chart {
  std::string title;
  std::vector<std::vector<double>> lines;  ///< of each series, a value for each place on the x axis
};

/// Charts in rows of four, each with a scale of its own.
///
/// Texts hold no character that means something in XML; values are finite and positive.
///
/// @param x_labels  places on the x axis, at least 2
/// @param series    names of the lines, the same in every chart
[[nodiscard]] std::string line_charts(const std::string& heading, const std::vector<std::string>& x_labels,
                                      const std::vector<std::string>& series, const std::vector<Chart>& charts);

}  // namespace larder::cli
