// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading files of Google Benchmark, and larder compare as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "measurements.hpp"
#include "text_table.hpp"
#include "tools/temporary_directory.hpp"

namespace larder::test {
namespace {

using cli::BadBenchmarkFile;
using cli::Measurements;
using cli::read_measurements;
using cli::short_time;
using testing::DoubleEq;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string repetition(const std::string& name, double real, double cpu, const std::string& more = "") {
  return R"({"name": ")" + name + R"(/repeats:3", "run_name": ")" + name +
         R"(", "run_type": "iteration", "threads": 1, "real_time": )" + std::to_string(real) + R"(, "cpu_time": )" +
         std::to_string(cpu) + R"(, "time_unit": "ns")" + more + "}";
}

std::string aggregate(const std::string& name, const std::string& which, const std::string& time) {
  return R"({"name": ")" + name + "_" + which + R"(", "run_name": ")" + name +
         R"(", "run_type": "aggregate", "aggregate_name": ")" + which + R"(", "threads": 1, "real_time": )" + time +
         R"(, "cpu_time": )" + time + R"(, "time_unit": "us"})";
}

std::string results(const std::string& entries) {
  return R"({"context": {"num_cpus": 2}, "benchmarks": [)" + entries + "]}";
}

TEST(Measurements, RepetitionsCountByTheirMedian) {
  const TemporaryDirectory directory;
  const std::string path = directory.file(
      "a.json", results(repetition("hit", 1, 30) + "," + repetition("hit", 1, 10) + "," + repetition("hit", 1, 20)));
  const Measurements read = read_measurements(path);
  ASSERT_EQ(read.all.size(), 1U);
  EXPECT_EQ(read.all[0].name, "hit");
  EXPECT_THAT(read.all[0].nanoseconds, DoubleEq(20));
  EXPECT_EQ(read.processors, 2);
}

TEST(Measurements, AnEvenNumberOfRepetitionsHasTheMeanOfTheMiddleTwo) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.json", results(repetition("hit", 1, 10) + "," + repetition("hit", 1, 16)));
  EXPECT_THAT(read_measurements(path).all.at(0).nanoseconds, DoubleEq(13));
}

TEST(Measurements, TheNameTellsWhichTimeCounts) {
  const TemporaryDirectory directory;
  const std::string path = directory.file(
      "a.json",
      results(repetition("a", 1, 2) + "," + repetition("b/real_time", 3, 4) + "," + repetition("c/manual_time", 5, 6)));
  const Measurements read = read_measurements(path);
  ASSERT_EQ(read.all.size(), 3U);
  EXPECT_THAT(read.all[0].nanoseconds, DoubleEq(2));
  EXPECT_THAT(read.all[1].nanoseconds, DoubleEq(3));
  EXPECT_THAT(read.all[2].nanoseconds, DoubleEq(5));
}

TEST(Measurements, AggregatesCountOnlyWhereThereIsNothingElse) {
  const TemporaryDirectory directory;
  const std::string both =
      directory.file("both.json", results(repetition("hit", 1, 20) + "," + aggregate("hit", "median", "9")));
  EXPECT_THAT(read_measurements(both).all.at(0).nanoseconds, DoubleEq(20));
  const std::string only =
      directory.file("only.json", results(aggregate("hit", "mean", "7") + "," + aggregate("hit", "median", "9")));
  EXPECT_THAT(read_measurements(only).all.at(0).nanoseconds, DoubleEq(9000));
}

TEST(Measurements, CountersThatAreNoNumberAreLeftOut) {
  const TemporaryDirectory directory;
  const std::string path =
      directory.file("a.json", results(repetition("hit", 1, 20, R"(, "p99_ns": 7.5, "cv": NaN, "top": -Infinity)") +
                                       "," + repetition("NaN", 1, 20)));
  const Measurements read = read_measurements(path);
  ASSERT_EQ(read.all.size(), 2U);
  EXPECT_EQ(read.all[0].counters, (std::map<std::string, double>{{"p99_ns", 7.5}}));
  EXPECT_EQ(read.all[1].name, "NaN");
}

TEST(Measurements, ABenchmarkThatFailedIsLeftOut) {
  const TemporaryDirectory directory;
  const std::string path = directory.file(
      "a.json", results(repetition("bad", 1, 20, R"(, "error_occurred": true)") + "," + repetition("good", 1, 20)));
  const Measurements read = read_measurements(path);
  ASSERT_EQ(read.all.size(), 1U);
  EXPECT_EQ(read.all[0].name, "good");
}

TEST(Measurements, WhatIsNoResultFileIsRefusedByName) {
  const TemporaryDirectory directory;
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      (void)read_measurements(path);
    } catch (const BadBenchmarkFile& error) {
      return error.what();
    }
    return "no refusal";
  };
  for (const std::string& path :
       {directory.path("absent"), directory.path("."), directory.file("empty", ""), directory.file("text", "hello"),
        directory.file("array", "[]"), directory.file("nothing", results("")),
        directory.file("unit", results(R"({"name": "a", "cpu_time": 1, "time_unit": "weeks"})")),
        directory.file("no time", results(R"({"name": "a"})"))}) {
    EXPECT_THAT(refusal(path), StartsWith(path + ": "));
  }
}

TEST(ShortTime, HasThreeDigits) {
  EXPECT_EQ(short_time(0.5), "0.50 ns");
  EXPECT_EQ(short_time(12.34), "12.3 ns");
  EXPECT_EQ(short_time(999.4), "999 ns");
  EXPECT_EQ(short_time(999.6), "1.00 us");
  EXPECT_EQ(short_time(2.5e6), "2.50 ms");
  EXPECT_EQ(short_time(3e12), "3000 s");
}

struct Outcome {
  int code;
  std::string out;  // and what it said on stderr
};

Outcome compare(const std::string& arguments) {
  std::FILE* const pipe = ::popen((LARDER_CLI " compare " + arguments + " 2>&1").c_str(), "r");
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}

class Compare : public testing::Test {
 protected:
  TemporaryDirectory directory;
  std::string old_file = directory.file("old.json", results(repetition("hit", 1, 20) + "," + repetition("gone", 1, 5)));
  std::string new_file =
      directory.file("new.json", results(repetition("hit", 1, 25) + "," + repetition("added", 1, 7)));
};

TEST_F(Compare, PrintsCurrentPreviousAndRatio) {
  const Outcome run = compare(old_file + " " + new_file);
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out,
            "suite  current  previous  ratio\n"
            "hit    25.0 ns   20.0 ns  1.250\n"
            "added  7.00 ns         -      -\n"
            "gone         -   5.00 ns      -\n");
}

TEST_F(Compare, MarkdownIsATable) {
  const Outcome run = compare("--markdown " + old_file + " " + new_file);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, StartsWith("| suite | current | previous | ratio |\n"
                                  "|:------|--------:|---------:|------:|\n"
                                  "| hit   | 25.0 ns |  20.0 ns | 1.250 |\n"));
}

TEST_F(Compare, FailsOnlyOverTheThreshold) {
  const Outcome over = compare(old_file + " " + new_file + " --threshold 24");
  EXPECT_EQ(over.code, 1);
  EXPECT_THAT(over.out, HasSubstr("1 of 1 suites are more than 24 % slower; the worst is hit with ratio 1.250"));
  EXPECT_EQ(compare(old_file + " " + new_file + " --threshold 25").code, 0);
  EXPECT_EQ(compare(new_file + " " + old_file + " --threshold 0").code, 0);
}

TEST_F(Compare, BadInputIsOneLineAndExitCode2) {
  const std::string unlike = directory.file("unlike.json", results(repetition("other", 1, 20)));
  const std::string text = directory.file("text", "hello\nworld");
  for (const std::string& arguments :
       {old_file, old_file + " " + directory.path("absent"), text + " " + new_file, old_file + " " + unlike,
        old_file + " " + new_file + " --threshold -1", old_file + " " + new_file + " --threshold much"}) {
    const Outcome run = compare(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_THAT(run.out, StartsWith("larder: ")) << arguments;
    EXPECT_EQ(run.out.find('\n'), run.out.size() - 1) << run.out;
  }
}

}  // namespace
}  // namespace larder::test
