// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading traces: what is taken, and that nothing is guessed.
#include "simulator/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "temporary_directory.hpp"

namespace larder::simulator {
namespace {

using std::chrono::nanoseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string header = "time_ns,key,bytes,build_ns,lease_ns\n";

std::vector<TraceRow> rows_of(const std::string& content) {
  const test::TemporaryDirectory directory;
  TraceReader reader(directory.file("trace.csv", content));
  std::vector<TraceRow> rows;
  TraceRow row;
  while (reader.next(row)) rows.push_back(row);
  return rows;
}

/// The message that reading this trace ends with.
std::string fault_of(const std::string& content) {
  try {
    static_cast<void>(rows_of(content));
  } catch (const BadTrace& fault) {
    return fault.what();
  }
  return "no fault";
}

TEST(Trace, RowsAreReadInOrderWithEveryField) {
  const auto rows = rows_of(header + "0,c2c 16 forward,4096,250,10\n7,b,0,0,0\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].time, nanoseconds(0));
  EXPECT_EQ(rows[0].key, "c2c 16 forward");
  EXPECT_EQ(rows[0].bytes, 4096U);
  EXPECT_EQ(rows[0].build, nanoseconds(250));
  EXPECT_EQ(rows[0].lease, nanoseconds(10));
  EXPECT_EQ(rows[1].time, nanoseconds(7));
  EXPECT_EQ(rows[1].key, "b");
  EXPECT_EQ(rows[1].lease_end(), nanoseconds(7));
}

TEST(Trace, HeaderAloneIsATraceWithoutRequests) { EXPECT_TRUE(rows_of(header).empty()); }

TEST(Trace, LastLineNeedsNoNewline) { EXPECT_EQ(rows_of(header + "1,a,2,3,4").size(), 1U); }

TEST(Trace, LargestNumberIsTaken) {
  const auto rows = rows_of(header + "0,a,9223372036854775807,9223372036854775807,9223372036854775807\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].bytes, 9223372036854775807U);
  EXPECT_EQ(rows[0].lease, nanoseconds::max());
}

TEST(Trace, LinesAcrossTheReadBufferStayWhole) {
  // Every row is 26 bytes, so some row straddles the end of any buffer of a power of two.
  std::string content = header;
  for (int i = 0; i < 20000; ++i)
    content += std::to_string(100000 + i) + ",key" + std::to_string(100000 + i) + ",1,22,333\n";
  const auto rows = rows_of(content);
  ASSERT_EQ(rows.size(), 20000U);
  for (int i = 0; i < 20000; ++i) {
    const TraceRow& row = rows[static_cast<std::size_t>(i)];
    ASSERT_EQ(row.time, nanoseconds(100000 + i));
    ASSERT_EQ(row.key, "key" + std::to_string(100000 + i));
    ASSERT_EQ(row.lease, nanoseconds(333));
  }
}

struct BadContent {
  const char* name;
  std::string content;
  std::string where;
  std::string what;
};

class TraceFaults : public testing::TestWithParam<BadContent> {};

TEST_P(TraceFaults, AreOneLineThatNamesLineAndValue) {
  const std::string fault = fault_of(GetParam().content);
  EXPECT_THAT(fault, AllOf(HasSubstr("trace.csv'"), HasSubstr(GetParam().where), HasSubstr(GetParam().what),
                           Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, TraceFaults,
    testing::Values(
        BadContent{"EmptyFile", "", "trace.csv' is empty", "time_ns,key,bytes,build_ns,lease_ns"},
        BadContent{"MissingHeader", "0,a,1,2,3\n", "line 1:", "'0,a,1,2,3'"},
        BadContent{"HeaderInAnotherOrder", "key,time_ns,bytes,build_ns,lease_ns\n", "line 1:", "'key,time_ns"},
        BadContent{"TooFewFields", header + "0,a,1,2,3\n1,a,1,2\n", "line 3:", "4 field(s)"},
        BadContent{"CommaInKey", header + "0,a,b,1,2,3\n", "line 2:", "6 field(s)"},
        BadContent{"BlankLine", header + "\n0,a,1,2,3\n", "line 2:", "1 field(s)"},
        BadContent{"EmptyKey", header + "0,,1,2,3\n", "line 2:", "the key is empty"},
        BadContent{"NegativeTime", header + "-1,a,1,2,3\n", "line 2:", "time_ns '-1' is negative"},
        BadContent{"NegativeBytes", header + "0,a,-5,2,3\n", "line 2:", "bytes '-5' is negative"},
        BadContent{"NegativeBuild", header + "0,a,1,-2,3\n", "line 2:", "build_ns '-2' is negative"},
        BadContent{"NegativeLease", header + "0,a,1,2,-3\n", "line 2:", "lease_ns '-3' is negative"},
        BadContent{"NegativeZero", header + "0,a,1,2,-0\n", "line 2:", "lease_ns '-0' is negative"},
        BadContent{"Overflow", header + "0,a,9223372036854775808,2,3\n",
                   "line 2:", "bytes '9223372036854775808' is out of range"},
        BadContent{"NotANumber", header + "0,a,1k,2,3\n", "line 2:", "bytes '1k' is not a whole number"},
        BadContent{"Fraction", header + "0,a,1,2.5,3\n", "line 2:", "build_ns '2.5' is not a whole number"},
        BadContent{"PlusSign", header + "0,a,1,+2,3\n", "line 2:", "build_ns '+2' is not a whole number"},
        BadContent{"Space", header + "0,a, 1,2,3\n", "line 2:", "bytes ' 1' is not a whole number"},
        BadContent{"MissingNumber", header + "0,a,1,2,\n", "line 2:", "lease_ns '' is not a whole number"},
        BadContent{"CarriageReturn", header + "0,a,1,2,3\r\n", "line 2:", "lease_ns '3\\x0d' is not a whole number"},
        BadContent{"TimeGoesBack", header + "9,a,1,2,3\n8,a,1,2,3\n", "line 3:", "time_ns 8 is before the 9"},
        BadContent{"LeaseEndOverflows", header + "1,a,1,2,9223372036854775807\n",
                   "line 2:", "is over 9223372036854775807"},
        BadContent{"EndlessLine", header + std::string(70000, 'x'), "line 2:", "longer than 65536 bytes"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Trace, MissingFileIsNamedWithTheReason) {
  const test::TemporaryDirectory directory;
  try {
    const TraceReader reader(directory.path("absent.csv"));
    FAIL() << "opened a file that is not there";
  } catch (const BadTrace& fault) {
    EXPECT_THAT(fault.what(), AllOf(HasSubstr("absent.csv'"), HasSubstr("No such file or directory")));
  }
}

TEST(Trace, DirectoryIsNotATrace) {
  const test::TemporaryDirectory directory;
  try {
    const TraceReader reader(directory.path("."));
    FAIL() << "read a directory";
  } catch (const BadTrace& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("Is a directory"));
  }
}

}  // namespace
}  // namespace larder::simulator
