// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace larder::cli {

namespace {

constexpr std::size_t columns = 4;
constexpr double cell_width = 230;
constexpr double cell_height = 190;
constexpr double top = 64;  // heading and legend
constexpr double plot_left = 44;
constexpr double plot_top = 28;
constexpr double plot_width = 170;
constexpr double plot_height = 125;

// Dashes tell the lines apart where colours do not.
constexpr std::array dashes{"none", "6 3", "2 2", "8 2 2 2"};

constexpr auto style = R"(<style>
text { font: 12px sans-serif; fill: #333 }
.title { font-weight: bold }
.page { fill: #fff }
.grid { stroke: #ddd }
.line { fill: none; stroke-width: 2 }
.s0 { stroke: #0969da } .s1 { stroke: #cf222e } .s2 { stroke: #8250df } .s3 { stroke: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd }
.page { fill: #161b22 }
.grid { stroke: #3a4048 }
.s0 { stroke: #58a6ff } .s1 { stroke: #ff7b72 } .s2 { stroke: #bc8cff } .s3 { stroke: #3fb950 }
}
</style>
)";

/// 1, 2 or 5 times a power of ten, such that few of them cover the range.
double step_for(double range) {
  constexpr double most_steps = 5;
  const double power = std::pow(10, std::floor(std::log10(range / most_steps)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (factor * power) <= most_steps) return factor * power;
  }
  return 10 * power;
}

std::string attributes_of_series(std::size_t series) {
  return fmt::format(R"(class="line s{}" stroke-dasharray="{}")", series % dashes.size(),
                     dashes[series % dashes.size()]);
}

std::string drawn(const Chart& chart, const std::vector<std::string>& x_labels) {
  // 1 is always on the scale: it is what the values are relative to.
  double lowest = 1;
  double highest = 1;
  for (const auto& line : chart.lines) {
    const auto [least, most] = std::minmax_element(line.begin(), line.end());
    lowest = std::min(lowest, *least);
    highest = std::max(highest, *most);
  }
  constexpr double least_range = 0.1;
  const double step = step_for(std::max(highest - lowest, least_range));
  const double bottom_value = step * std::floor(lowest / step);
  const auto steps = static_cast<int>(std::max(std::ceil((highest - bottom_value) / step), 1.0));
  const auto x = [&](std::size_t place) {
    return plot_left + plot_width * static_cast<double>(place) / static_cast<double>(x_labels.size() - 1);
  };
  const auto y = [&](double value) {
    return plot_top + plot_height * (1 - (value - bottom_value) / (step * static_cast<double>(steps)));
  };

  std::string out;
  out += fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"18\">{}</text>\n", plot_left, chart.title);
  for (int i = 0; i <= steps; ++i) {
    const double value = bottom_value + step * i;
    out += fmt::format("<line class=\"grid\" x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n", plot_left,
                       plot_left + plot_width, y(value), y(value));
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n", plot_left - 5,
                       y(value) + 4, value);
  }
  for (std::size_t place = 0; place < x_labels.size(); ++place) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x(place),
                       plot_top + plot_height + 17, x_labels[place]);
  }
  for (std::size_t series = 0; series < chart.lines.size(); ++series) {
    out += fmt::format("<polyline {} points=\"", attributes_of_series(series));
    for (std::size_t place = 0; place < x_labels.size(); ++place) {
      out += fmt::format("{}{:.1f},{:.1f}", place == 0 ? "" : " ", x(place), y(chart.lines[series][place]));
    }
    out += "\"/>\n";
  }
  return out;
}

}  // namespace

std::string line_charts(const std::string& heading, const std::vector<std::string>& x_labels,
                        const std::vector<std::string>& series, const std::vector<Chart>& charts) {
  const std::size_t rows = (charts.size() + columns - 1) / columns;
  const double width = cell_width * columns;
  const double height = top + cell_height * static_cast<double>(rows);
  std::string out;
  out += fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\">\n",
      width, height, width, height);
  out += style;
  out += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  out += fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"22\">{}</text>\n", plot_left, heading);
  constexpr double legend_width = 110;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double left = plot_left + legend_width * static_cast<double>(i);
    out += fmt::format("<polyline {} points=\"{:.0f},44 {:.0f},44\"/>\n", attributes_of_series(i), left, left + 30);
    out += fmt::format("<text x=\"{:.0f}\" y=\"48\">{}</text>\n", left + 36, series[i]);
  }
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t row = i / columns;
    out += fmt::format("<g transform=\"translate({:.0f},{:.0f})\">\n", cell_width * static_cast<double>(i % columns),
                       top + cell_height * static_cast<double>(row));
    out += drawn(charts[i], x_labels);
    out += "</g>\n";
  }
  out += "</svg>\n";
  return out;
}

}  // namespace larder::cli
