// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Charts: every expected coordinate is worked out in the comment beside it.
#include "svg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace larder::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Svg, LinesGoThroughTheirValues) {
  const std::string svg = line_charts("heading", {"5", "10", "20"}, {"a", "b"}, {{"t", {{1, 3, 2}, {1, 1, 1}}}});
  // The plot is 170 wide from 44 on and 125 high from 28 on. 1 to 3 takes steps of 0.5: 1 lies at the bottom, 153, and 3 at
  // the top.
  EXPECT_THAT(svg, HasSubstr(R"(points="44.0,153.0 129.0,28.0 214.0,90.5")"));
  EXPECT_THAT(svg, HasSubstr(R"(points="44.0,153.0 129.0,153.0 214.0,153.0")"));
  for (const char* label : {">1<", ">1.5<", ">2<", ">2.5<", ">3<"}) EXPECT_EQ(times(svg, label), 1U) << label;
}

TEST(Svg, ScaleHolds1AndEveryValue) {
  // 0.3 to 1 takes steps of 0.2, from 0.2 on: 0.3 lies an eighth up, 153 - 125 / 8.
  EXPECT_THAT(line_charts("h", {"5", "10"}, {"a"}, {{"t", {{0.3, 0.3}}}}),
              HasSubstr(R"(points="44.0,137.4 214.0,137.4")"));
  // All values 1: a scale of one step of 0.02.
  EXPECT_THAT(line_charts("h", {"5", "10"}, {"a"}, {{"t", {{1, 1}}}}), HasSubstr(">1.02<"));
}

TEST(Svg, NinthChartBeginsAThirdRow) {
  const std::string svg =
      line_charts("heading", {"5", "10"}, {"a"}, std::vector<Chart>(9, {.title = "t", .lines = {{1, 2}}}));
  EXPECT_EQ(times(svg, "<g transform"), 9U);
  EXPECT_EQ(times(svg, "translate(0,"), 3U);
  EXPECT_EQ(times(svg, "</g>"), 9U);
}

TEST(Svg, IsAPictureForLightAndDarkPagesWithoutScript) {
  const std::string svg = line_charts("heading", {"5", "10"}, {"a"}, {{"t", {{1, 2}}}});
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr(">heading<"));
  EXPECT_THAT(svg, Not(HasSubstr("script")));
}

}  // namespace
}  // namespace larder::cli
