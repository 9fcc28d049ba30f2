// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built command line, run as a user runs it: exit codes, one-line failures, JSON fields and what must hold in them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "temporary_directory.hpp"

namespace larder::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

using Variables = std::vector<std::string>;

/// Runs larder with these arguments, and with these "NAME=value" in an environment without any other LARDER_* variable.
/// @param out  descriptor for its standard output
int run_to(int out, const std::string& err_path, std::vector<std::string> arguments, Variables variables) {
  arguments.insert(arguments.begin(), LARDER_CLI);
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("LARDER_")) variables.emplace_back(*each);
  }
  std::vector<char*> argv;
  for (std::string& each : arguments) argv.push_back(each.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& each : variables) envp.push_back(each.data());
  envp.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, LARDER_CLI, &files, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot run " LARDER_CLI);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Outcome larder(std::vector<std::string> arguments, Variables variables = {}) {
  const TemporaryDirectory directory;
  const std::string out_path = directory.path("out");
  const std::string err_path = directory.path("err");
  const int out = ::open(out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int code = run_to(out, err_path, std::move(arguments), std::move(variables));
  ::close(out);
  return {code, content_of(out_path), content_of(err_path)};
}

json json_of(const std::string& path) { return json::parse(content_of(path)); }

std::vector<std::string> fields_of(const json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

bool is_one_line(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n');
}

TEST(CommandLine, VersionIsTheProjects) {
  const Outcome run = larder({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "larder " LARDER_VERSION "\n");
}

TEST(CommandLine, AloneItPrintsHelpAndFails) {
  const Outcome run = larder({});
  EXPECT_EQ(run.code, 2);
  for (const char* command : {"churn", "hotcold", "replay", "trace", "suite", "compare", "doctor"})
    EXPECT_THAT(run.out, HasSubstr(command));
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  for (const std::string command : {"churn", "hotcold", "replay", "trace", "suite", "doctor"}) {
    const Outcome run = larder({command, "--help"});
    EXPECT_EQ(run.code, 0) << command;
    EXPECT_THAT(run.out, HasSubstr("Example")) << command;
    EXPECT_THAT(run.out, HasSubstr("larder " + command + " ")) << command;
    EXPECT_EQ(run.err, "") << command;
  }
  EXPECT_THAT(larder({"--help"}).out, HasSubstr("Example"));
}

struct BadCall {
  const char* name;
  std::vector<std::string> arguments;
  std::string what;
};

class BadCalls : public testing::TestWithParam<BadCall> {};

TEST_P(BadCalls, AreOneLineAndExitCode2AndLeaveNothingBehind) {
  const TemporaryDirectory directory;
  std::vector<std::string> arguments = GetParam().arguments;
  const bool writes = !arguments.empty() && arguments.front() != "doctor" && arguments.front().front() != '-';
  const std::string option = arguments.front() == "trace" ? "--output=" : "--json=";
  if (writes) arguments.insert(arguments.begin() + 1, option + directory.path("result"));
  const Outcome run = larder(arguments);
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
  EXPECT_THAT(run.err, StartsWith("larder: "));
  EXPECT_THAT(run.err, HasSubstr(GetParam().what));
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(directory.is_empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCalls,
    testing::Values(
        BadCall{"UnknownCommand", {"--", "bake"}, "bake"},
        BadCall{"UnknownOption", {"doctor", "--frobnicate"}, "--frobnicate"},
        BadCall{"UnknownBackend", {"churn", "--backend", "cufft9"}, "'cufft9' is not a back end"},
        BadCall{
            "MalformedCountBudget", {"churn", "--backend", "simulated", "--max-idle", "many"}, "'many' is not a count"},
        BadCall{"NegativeCountBudget", {"churn", "--backend", "simulated", "--max-idle", "-1"}, "'-1' is not a count"},
        BadCall{"MalformedByteBudget",
                {"churn", "--backend", "simulated", "--max-idle-bytes", "12XB"},
                "'12XB' is not a size"},
        BadCall{"UnknownPolicy", {"churn", "--backend", "simulated", "--policy", "mru"}, "'mru' is not a policy"},
        BadCall{"LengthZero", {"churn", "--backend", "simulated", "--first", "0"}, "--first: '0'"},
        BadCall{"NegativeLength", {"churn", "--backend", "simulated", "--first", "-16"}, "--first: '-16'"},
        BadCall{"NegativeStep", {"churn", "--backend", "simulated", "--step", "-2"}, "--step: '-2'"},
        BadCall{"NegativeBatch", {"churn", "--backend", "simulated", "--batch", "-1"}, "--batch: '-1'"},
        BadCall{"CountIsNoNumber", {"churn", "--backend", "simulated", "--count", "6e3"}, "--count: '6e3'"},
        BadCall{"CountMissing", {"churn", "--backend", "simulated", "--count"}, "--count"},
        BadCall{"EveryZero", {"churn", "--backend", "simulated", "--every", "0"}, "--every: '0'"},
        BadCall{
            "LastLengthOverflows", {"churn", "--backend", "simulated", "--first", "9223372036854775807"}, "too large"},
        BadCall{"ArrayTooLarge",
                {"churn", "--backend", "simulated", "--first", "4611686018427387904", "--count", "1"},
                "does not fit into memory"},
        BadCall{"WisdomForSimulated", {"churn", "--backend", "simulated", "--wisdom", "w"}, "--wisdom"},
        BadCall{"NoHotKeys", {"hotcold", "--backend", "simulated", "--hot", "0"}, "--hot: '0'"},
        BadCall{"NegativeCold", {"hotcold", "--backend", "simulated", "--cold", "-4"}, "--cold: '-4'"},
        BadCall{"TooManyColdKeys",
                {"hotcold", "--backend", "simulated", "--cold", "9223372036854775807"},
                "too many lengths"},
        BadCall{"NoTrace", {"replay"}, "TRACE"},
        BadCall{"MissingTrace", {"replay", "/nonexistent/trace.csv"}, "No such file or directory"},
        BadCall{"EmptyTrace", {"replay", "/dev/null"}, "is empty"},
        BadCall{"BothBudgets", {"replay", "/dev/null", "--max-idle", "1", "--max-idle-bytes", "1"}, "--max-idle-bytes"},
        BadCall{"ReplayPolicyUnknown", {"replay", "/dev/null", "--policy", "lru,mru"}, "'mru' is not a policy"},
        BadCall{"ReplayPolicyEmpty", {"replay", "/dev/null", "--policy", "lru,"}, "'' is not a policy"},
        BadCall{"NoPattern", {"trace"}, "PATTERN is required"},
        BadCall{"UnknownPattern", {"trace", "bake"}, "PATTERN: 'bake' will not do; give one of zipf, drift"},
        BadCall{"UnknownCosts", {"trace", "zipf", "--costs", "free"}, "'free' will not do; give one of equal"},
        BadCall{"NoKeys", {"trace", "zipf", "--keys", "0"}, "--keys: '0'"},
        BadCall{"NegativeRequests", {"trace", "zipf", "--requests", "-1"}, "--requests: '-1'"},
        BadCall{"TooManyRequests", {"trace", "zipf", "--requests", "1000000000001"}, "requests 1000000000001"},
        BadCall{"SeedIsNoNumber", {"trace", "zipf", "--seed", "x"}, "--seed: 'x'"},
        BadCall{"HotWithoutMeaning", {"trace", "loop", "--hot", "3"}, "loop has no hot and cold keys"},
        BadCall{"OverlapAbove1", {"trace", "zipf", "--overlap", "1.5"}, "--overlap: '1.5'"},
        BadCall{"OverlapIsNoNumber", {"trace", "zipf", "--overlap", "nan"}, "--overlap: 'nan'"},
        BadCall{"MeasuredNotUsed", {"trace", "zipf", "--measured", "plans.csv"}, "--costs measured"},
        BadCall{"MeasuredMissing",
                {"trace", "zipf", "--costs", "measured", "--measured", "/nonexistent/plans.csv"},
                "No such file or directory"},
        BadCall{"MeasuredEmpty", {"trace", "zipf", "--costs", "measured", "--measured", "/dev/null"}, "first line"},
        BadCall{"SuitePolicyUnknown", {"suite", "--policy", "mru"}, "'mru' is not a policy"},
        BadCall{"NoSeeds", {"suite", "--seeds", "0"}, "--seeds: '0'"},
        BadCall{"TooManySeeds", {"suite", "--seeds", "10001"}, "seeds 10001"},
        BadCall{"NoJobs", {"suite", "--jobs", "0"}, "--jobs: '0'"},
        BadCall{"PlotCannotBeWritten", {"suite", "--plot", "/nonexistent/suite.svg"}, "--plot: cannot write"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(CommandLine, JsonThatCannotBeWrittenIsRefusedBeforeTheRun) {
  const TemporaryDirectory directory;
  for (const std::string& path : {directory.path("absent/result.json"), directory.path(".")}) {
    const Outcome run = larder({"churn", "--backend", "simulated", "--count", "10", "--json", path});
    EXPECT_EQ(run.code, 2);
    EXPECT_TRUE(is_one_line(run.err)) << run.err;
    EXPECT_EQ(run.out, "");
  }
}

TEST(CommandLine, FullOutputIsAFailedRun) {
  const TemporaryDirectory directory;
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const int code = run_to(full, directory.path("err"), {"churn", "--backend", "simulated", "--count", "10"}, {});
  ::close(full);
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(is_one_line(content_of(directory.path("err"))));
}

TEST(CommandLine, JsonToADeviceLeavesTheDevice) {
  EXPECT_EQ(larder({"hotcold", "--backend", "simulated", "--json", "/dev/null"}).code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(CommandLine, JsonThroughALinkReplacesTheFileNotTheLink) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("file.json", "old");
  const std::string link = directory.path("link.json");
  std::filesystem::create_symlink(file, link);
  EXPECT_EQ(larder({"hotcold", "--backend", "simulated", "--json", link}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(json_of(file)["hot"], 16);
}

TEST(Churn, StaysInsideTheBoundInEverySample) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  const Outcome run = larder(
      {"churn", "--backend", "simulated", "--count", "130", "--every", "50", "--max-idle", "64", "--json", path});
  ASSERT_EQ(run.code, 0) << run.err;

  const json result = json_of(path);
  EXPECT_THAT(fields_of(result), testing::IsSupersetOf({"backend", "max_idle", "policy", "samples", "stats"}));
  EXPECT_EQ(result["backend"], "simulated");
  EXPECT_EQ(result["policy"], "value");
  EXPECT_EQ(result["max_idle"], 64);
  std::vector<int> steps;
  for (const json& sample : result["samples"]) {
    // nlohmann's default object is sorted by name.
    EXPECT_THAT(fields_of(sample), ElementsAre("idle", "idle_bytes", "idle_keys", "memory_bytes", "step"));
    EXPECT_LE(sample["idle"].get<int>(), 64);
    // Nothing is leased when a sample is taken, so what the simulated library holds is what lies idle.
    EXPECT_EQ(sample["memory_bytes"], sample["idle_bytes"]);
    EXPECT_EQ(sample["idle"], sample["idle_keys"]);
    steps.push_back(sample["step"].get<int>());
  }
  EXPECT_THAT(steps, ElementsAre(0, 50, 100, 130));

  const json& stats = result["stats"];
  EXPECT_EQ(stats["hits"], 0);
  EXPECT_EQ(stats["misses"], 130);
  EXPECT_EQ(stats["builds"], 130);
  EXPECT_EQ(stats["build_ns"], 130'000'000);
  EXPECT_EQ(stats["idle"], 64);
  EXPECT_EQ(stats["leased"], 0);
  EXPECT_EQ(stats["destroys"], 66);
  EXPECT_EQ(stats["evictions"]["budget"], 66);
  EXPECT_THAT(fields_of(stats["evictions"]),
              ElementsAre("age", "budget", "bytes", "cleared", "discarded", "invalidated", "per_key", "pressure"));
  EXPECT_THAT(fields_of(stats),
              ElementsAre("abandoned", "build_failures", "build_ns", "builds", "destroy_failures", "destroys",
                          "evictions", "hits", "idle", "idle_bytes", "idle_keys", "leased", "leased_bytes", "live",
                          "misses", "peak_live", "peak_live_bytes", "rebuilds"));
}

TEST(Churn, LruKeepsTheLastLengthsAndTheirBytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  ASSERT_EQ(larder({"churn", "--backend", "simulated", "--first", "10", "--step", "5", "--count", "4", "--max-idle",
                    "2", "--policy", "lru", "--batch", "3", "--json", path})
                .code,
            0);
  // Lengths 10, 15, 20, 25: the last two stay, 4096 + 3 x 16 x n bytes each: 4096 + 960 + 4096 + 1200.
  EXPECT_EQ(json_of(path)["stats"]["idle_bytes"], 10352);
}

TEST(Churn, PolicyNoneKeepsEverything) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  ASSERT_EQ(larder({"churn", "--backend", "simulated", "--count", "500", "--max-idle", "64", "--policy", "none",
                    "--json", path},
                   {"LARDER_MAX_IDLE=3", "LARDER_MAX_LIVE=5"})
                .code,
            0);
  const json result = json_of(path);
  EXPECT_EQ(result["policy"], "none");
  EXPECT_TRUE(result["max_idle"].is_null());
  EXPECT_EQ(result["samples"].back()["idle"], 500);
  EXPECT_EQ(result["stats"]["destroys"], 0);
}

TEST(Churn, ByteBudgetHoldsInEverySample) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  ASSERT_EQ(larder({"churn", "--backend", "simulated", "--count", "300", "--max-idle", "unlimited", "--max-idle-bytes",
                    "256KiB", "--every", "1", "--json", path})
                .code,
            0);
  const json result = json_of(path);
  EXPECT_EQ(result["samples"].size(), 301U);
  std::size_t most = 0;
  for (const json& sample : result["samples"]) most = std::max(most, sample["idle_bytes"].get<std::size_t>());
  EXPECT_LE(most, 262144U);
  // The longest plan holds 4096 + 16 x 614 = 13920 bytes; a full budget has no place for one more.
  EXPECT_GT(most, 262144U - 13920U);
}

TEST(Churn, EnvironmentSetsWhatTheCommandLineLeavesOut) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  const Variables variables = {"LARDER_MAX_IDLE=7", "LARDER_POLICY=lru"};
  ASSERT_EQ(larder({"churn", "--backend", "simulated", "--count", "20", "--json", path}, variables).code, 0);
  EXPECT_EQ(json_of(path)["max_idle"], 7);
  EXPECT_EQ(json_of(path)["policy"], "lru");
  EXPECT_EQ(json_of(path)["stats"]["idle"], 7);
  ASSERT_EQ(
      larder({"churn", "--backend", "simulated", "--count", "20", "--max-idle", "9", "--policy", "gds", "--json", path},
             variables)
          .code,
      0);
  EXPECT_EQ(json_of(path)["policy"], "gds");
  EXPECT_EQ(json_of(path)["stats"]["idle"], 9);
}

TEST(Churn, MalformedEnvironmentIsReportedAndTheDefaultUsed) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  const Outcome run =
      larder({"churn", "--backend", "simulated", "--count", "100", "--json", path}, {"LARDER_MAX_IDLE=lots"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("LARDER_MAX_IDLE='lots'"));
  EXPECT_EQ(json_of(path)["stats"]["idle"], 64);
}

TEST(Churn, PlainLinesCarryNoControlCharacters) {
  const Outcome run = larder({"churn", "--backend", "simulated", "--count", "100"});
  EXPECT_THAT(run.out, Not(HasSubstr("\r")));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  // A heading, samples at 0, 50 and 100, and two lines of summary.
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 6);
}

TEST(Churn, TerminalGetsAProgressBar) {
  int terminal = -1;
  int ours = -1;
  if (::openpty(&ours, &terminal, nullptr, nullptr, nullptr) != 0)
    GTEST_SKIP() << "this machine gives no pseudo terminal";
  const TemporaryDirectory directory;
  // Few enough samples that the terminal's buffer holds all output until it is read.
  const int code = run_to(terminal, directory.path("err"), {"churn", "--backend", "simulated", "--count", "100"}, {});
  ::close(terminal);
  std::string shown;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ours, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, static_cast<std::size_t>(got));
  ::close(ours);
  EXPECT_EQ(code, 0);
  EXPECT_THAT(shown, HasSubstr("[........................] 0/100"));
  EXPECT_THAT(shown, HasSubstr("\r"));
  EXPECT_THAT(shown, HasSubstr("[########################] 100/100"));
}

struct HotAndCold {
  int hot;
  int cold;
};

class HotColdCases : public testing::TestWithParam<HotAndCold> {};

TEST_P(HotColdCases, C20_HotKeysAreBuiltOnceEach) {
  const auto [hot, cold] = GetParam();
  for (const std::string policy : {"lru", "value"}) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("hotcold.json");
    const Outcome run = larder({"hotcold", "--backend", "simulated", "--hot", std::to_string(hot), "--cold",
                                std::to_string(cold), "--max-idle", "64", "--policy", policy, "--json", path});
    ASSERT_EQ(run.code, 0) << run.err;
    const json result = json_of(path);
    EXPECT_THAT(fields_of(result), ElementsAre("build_ns", "cold", "hot", "hot_builds", "ideal_hot_builds",
                                               "iterations", "max_idle", "policy", "total_builds"));
    EXPECT_EQ(result["hot"], hot);
    EXPECT_EQ(result["cold"], cold);
    EXPECT_EQ(result["iterations"], 200);
    EXPECT_EQ(result["max_idle"], 64);
    EXPECT_EQ(result["policy"], policy);
    EXPECT_EQ(result["hot_builds"], hot) << policy;
    EXPECT_EQ(result["ideal_hot_builds"], hot);
    // Every cold key is new: 200 x cold builds, of 1 ms each in the simulated library.
    EXPECT_EQ(result["total_builds"], hot + 200 * cold);
    EXPECT_EQ(result["build_ns"].get<std::int64_t>(), (hot + 200 * cold) * 1'000'000LL);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HotColdCases,
                         testing::Values(HotAndCold{1, 4}, HotAndCold{4, 4}, HotAndCold{8, 8}, HotAndCold{16, 4}),
                         [](const auto& each) {
                           return std::to_string(each.param.hot) + "And" + std::to_string(each.param.cold);
                         });

TEST(HotCold, LruOfHotKeysOnlyRebuildsThemAll) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("hotcold.json");
  // 16 places: when a hot key comes again, 15 hot and 4 cold keys were returned since, so it is gone every time.
  ASSERT_EQ(larder({"hotcold", "--backend", "simulated", "--hot", "16", "--cold", "4", "--max-idle", "16", "--policy",
                    "lru", "--json", path})
                .code,
            0);
  EXPECT_EQ(json_of(path)["hot_builds"], 3200);
}

TEST(ReplayCommand, WritesOneObjectForEachPolicyInOrder) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("trace.csv",
                                           "time_ns,key,bytes,build_ns,lease_ns\n"
                                           "0,a,1,100,0\n1,b,1,1,0\n2,c,1,1,0\n3,b,1,1,0\n4,a,1,100,0\n");
  const std::string path = directory.path("replay.json");
  // The trace comes last, where an option that takes a list would swallow it. Worked out in replay_test.cpp.
  const Outcome run = larder({"replay", "--max-idle", "2", "--json", path, "--policy", "gds,lru", trace});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json_of(path), json::parse(R"([{"policy":"gds","requests":5,"builds":4,"build_ns":103},
                                           {"policy":"lru","requests":5,"builds":4,"build_ns":202}])"));
}

TEST(ReplayCommand, ReplaysEveryPolicyWithinThe64OfTheDefault) {
  const TemporaryDirectory directory;
  std::string rows = "time_ns,key,bytes,build_ns,lease_ns\n";
  // 65 keys in a loop, twice: lru with 64 places finds none of them.
  for (int i = 0; i < 130; ++i) rows += std::to_string(i) + ",k" + std::to_string(i % 65) + ",1,10,0\n";
  const std::string path = directory.path("replay.json");
  ASSERT_EQ(larder({"replay", directory.file("trace.csv", rows), "--json", path}).code, 0);
  const json result = json_of(path);
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0]["policy"], "value");
  EXPECT_EQ(result[1], json::parse(R"({"policy":"lru","requests":130,"builds":130,"build_ns":1300})"));
  EXPECT_EQ(result[2]["policy"], "gds");
}

TEST(ReplayCommand, BadLineIsNamedAndNothingIsWritten) {
  const TemporaryDirectory directory;
  const std::string trace = directory.file("trace.csv", "time_ns,key,bytes,build_ns,lease_ns\n0,a,1,1,0\n1,a,-1,1,0\n");
  const std::string path = directory.path("replay.json");
  const Outcome run = larder({"replay", trace, "--json", path});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "larder: trace '" + trace + "' line 3: bytes '-1' is negative; give 0 or more\n");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TraceCommand, WritesTheGeneratorsRows) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("trace.csv");
  const Outcome run = larder({"trace", "hotcold", "--requests", "7", "--hot", "2", "--cold", "1", "--costs", "equal",
                              "--overlap", "0", "--output", path});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const std::string text = content_of(path);
  EXPECT_THAT(text, StartsWith("time_ns,key,bytes,build_ns,lease_ns\n0,k0,"));
  EXPECT_THAT(text, testing::ContainsRegex("\n6000000,k0,[0-9]+,2000000,[0-9]{1,6}\n$"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
  // k0, k1 and the two cold keys fit: nothing is built twice.
  const std::string json_path = directory.path("replay.json");
  ASSERT_EQ(larder({"replay", path, "--policy", "lru", "--json", json_path}).code, 0);
  EXPECT_EQ(json_of(json_path)[0]["builds"], 4);
}

TEST(TraceCommand, SameSeedSameFile) {
  const TemporaryDirectory directory;
  const auto trace = [&](const std::string& seed) {
    const std::string path = directory.path("trace.csv");
    EXPECT_EQ(larder({"trace", "drift", "--costs", "measured", "--seed", seed, "-o", path}).code, 0);
    return content_of(path);
  };
  const std::string first = trace("5");
  EXPECT_EQ(trace("5"), first);
  EXPECT_NE(trace("6"), first);
}

TEST(TraceCommand, TakesMeasuredPlansFromAFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("trace.csv");
  const std::string plans = directory.file("plans.csv", "length,rigor,bytes,build_ns\n64,measure,5120,777\n");
  ASSERT_EQ(larder({"trace", "loop", "--requests", "1", "--costs", "measured", "--measured", plans, "-o", path}).code,
            0);
  EXPECT_THAT(content_of(path), HasSubstr("\n0,k0,5120,777,"));
}

TEST(TraceCommand, FullDeviceIsAFailedRun) {
  const Outcome run = larder({"trace", "zipf", "-o", "/dev/full"});
  EXPECT_EQ(run.code, 1);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
}

TEST(SuiteCommand, PrintsATableAndWritesRatiosAndAPicture) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("suite.json");
  const std::string plot = directory.path("suite.svg");
  const Outcome run = larder(
      {"suite", "--requests", "100", "--seeds", "1", "--policy", "lru,gds", "--bound", "--json", path, "--plot", plot});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nzipf "));
  EXPECT_THAT(run.out, HasSubstr("\ntotal "));

  const json result = json_of(path);
  EXPECT_THAT(fields_of(result), ElementsAre("by_budget", "by_costs", "by_pattern", "cases", "first_seed", "reference",
                                             "requests", "seeds", "total"));
#ifdef LARDER_HAVE_BOUND
  EXPECT_EQ(result["reference"], "bound");
  const std::size_t contestants = 3;  // the policies and the schedule that knows the future
#else
  EXPECT_THAT(run.out, HasSubstr("built without LEMON"));
  EXPECT_EQ(result["reference"], "gds");
  const std::size_t contestants = 2;
#endif
  EXPECT_EQ(result["total"].size(), contestants);
  EXPECT_EQ(result["by_pattern"].size(), 8 * contestants);
  EXPECT_EQ(result["by_costs"].size(), 4 * contestants);
  EXPECT_EQ(result["by_budget"].size(), 4 * contestants);
  EXPECT_EQ(result["cases"].size(), 8U * 4U * 4U);
  EXPECT_THAT(fields_of(result["by_budget"][0]), ElementsAre("budget_percent", "mean", "policy", "worst"));
  EXPECT_THAT(fields_of(result["cases"][0]),
              ElementsAre("budget_bytes", "budget_percent", "build_ns", "costs", "pattern", "reference_ns", "seed"));
  for (const json& each : result["by_pattern"]) EXPECT_LE(each["mean"], each["worst"]);

  const std::string picture = content_of(plot);
  EXPECT_THAT(picture, StartsWith("<svg "));
  EXPECT_THAT(picture, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(picture, Not(HasSubstr("<script")));
  for (const char* text : {">zipf<", ">lengths<", ">5 %<", ">40 %<", ">lru<", ">gds<"})
    EXPECT_THAT(picture, HasSubstr(text));
}

TEST(SuiteCommand, IsRelativeToGdsUnlessAskedForTheBound) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("suite.json");
  ASSERT_EQ(larder({"suite", "--requests", "100", "--seeds", "1", "--policy", "gds", "--json", path}).code, 0);
  EXPECT_EQ(json_of(path)["reference"], "gds");
  EXPECT_EQ(json_of(path)["total"], json::parse(R"([{"policy":"gds","mean":1.0,"worst":1.0}])"));
}

TEST(Doctor, TellsWhatItFindsAndJudgesTheEnvironment) {
  const Outcome run = larder({"doctor"}, {"LARDER_MAX_IDLE=12", "LARDER_MAX_IDLE_BYTES=12XB", "LARDER_MAXIDLE=1",
                                          "LARDER_CUFFT_LIBRARY=/nonexistent/libcufft.so"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  for (const char* part : {"CPU(s)", "double", "single", "long double", "cuda", "cufft", "amdhip64", "NVIDIA", "AMD"}) {
    EXPECT_THAT(run.out, HasSubstr(part));
  }
  EXPECT_THAT(run.out, HasSubstr("LARDER_MAX_IDLE='12': ok"));
  EXPECT_THAT(run.out, HasSubstr("LARDER_MAX_IDLE_BYTES='12XB': malformed"));
  EXPECT_THAT(run.out, HasSubstr("LARDER_MAXIDLE='1': not a variable that larder knows"));
  EXPECT_THAT(run.out, HasSubstr("not found (/nonexistent/libcufft.so: cannot open shared object file"));
  EXPECT_THAT(run.out, HasSubstr("set LARDER_CUFFT_LIBRARY to its file"));
}

TEST(CufftBackend, WithoutADriverItTellsWhatWasLookedForAndFails) {
  for (const std::string command : {"churn", "hotcold"}) {
    const TemporaryDirectory directory;
    const std::string path = directory.path("result.json");
    const Outcome run =
        larder({command, "--backend", "cufft", "--json", path}, {"LARDER_CUDA_LIBRARY=/nonexistent/libcuda.so"});
    EXPECT_EQ(run.code, 1) << command;
    EXPECT_TRUE(is_one_line(run.err)) << run.err;
    EXPECT_THAT(run.err, HasSubstr("LARDER_CUDA_LIBRARY names '/nonexistent/libcuda.so'"));
    EXPECT_EQ(content_of(path), "");
  }
}

TEST(CufftBackend, HasNoWisdom) {
  const Outcome run = larder({"churn", "--backend", "cufft", "--wisdom", "file"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--wisdom"));
}

TEST(ReplayCommand, WithBoundTellsHowFarAPolicyIsFromIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("replay.json");
  // Two places: a (10), b (20) and c (30) are built once by whoever knows that b comes again; lru pushes b out for c.
  const std::string trace = directory.file("trace.csv",
                                           "time_ns,key,bytes,build_ns,lease_ns\n"
                                           "0,a,1,10,0\n1,b,1,20,0\n2,a,1,10,0\n3,c,1,30,0\n4,b,1,20,0\n");
  const Outcome run = larder({"replay", trace, "--bound", "--policy", "lru", "--max-idle", "2", "--json", path});
#ifdef LARDER_HAVE_BOUND
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json_of(path), json::parse(R"([{"policy":"lru","requests":5,"builds":4,"build_ns":80,"bound_ns":60,
                                            "feasible_ns":60,"ratio":1.3333333333333333}])"));
#else
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("without LEMON"));
#endif
}

#ifdef LARDER_HAVE_FFTW
TEST(ExecuteCommand, MakesTheRequestsOfATraceOfRealPlans) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("execute.json");
  // Lengths 16, 32 and 16; the second lease of 16 begins while the first is open. One place.
  const std::string trace = directory.file("trace.csv",
                                           "time_ns,key,bytes,build_ns,lease_ns\n"
                                           "0,a,4352,1,0\n1,b,4608,1,0\n2,a,4352,1,9\n3,a,4352,1,0\n");
  const Outcome run = larder({"execute", trace, "--policy", "lru", "--max-idle", "1", "--json", path});
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json_of(path);
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0]["policy"], "lru");
  EXPECT_EQ(result[0]["requests"], 4);
  EXPECT_EQ(result[0]["builds"], 3) << "plans are shared: the last two requests have one";
  EXPECT_GT(result[0]["build_ns"], 0);
  EXPECT_GE(result[0]["wall_ns"], result[0]["build_ns"]);
}

TEST(ExecuteCommand, RefusesAPlanThatWouldTakeMinutes) {
  const TemporaryDirectory directory;
  const std::string trace =
      directory.file("trace.csv", "time_ns,key,bytes,build_ns,lease_ns\n0,a,1,1,0\n1,b,9223372036854775807,1,0\n");
  const Outcome run = larder({"execute", trace});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("line 3: a plan of 9223372036854775807 bytes"));
}

TEST(ChurnOnFftw, StaysInsideTheBoundInEverySample) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  const Outcome run = larder({"churn", "--count", "150", "--max-idle", "16", "--json", path});
  ASSERT_EQ(run.code, 0) << run.err;
  const json result = json_of(path);
  EXPECT_EQ(result["backend"], "fftw");
  for (const json& sample : result["samples"]) {
    EXPECT_LE(sample["idle"].get<int>(), 16);
    EXPECT_GT(sample["memory_bytes"].get<std::int64_t>(), 0);
  }
  EXPECT_EQ(result["stats"]["builds"], 150);
  EXPECT_EQ(result["stats"]["idle"], 16);
}

TEST(ChurnOnFftw, MissingWisdomIsRefusedBeforeTheRun) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("churn.json");
  const Outcome run = larder({"churn", "--count", "10", "--wisdom", directory.path("absent.wisdom"), "--json", path});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
  EXPECT_THAT(run.err, HasSubstr("absent.wisdom"));
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(directory.is_empty());
}

TEST(HotColdOnFftw, HotKeysAreBuiltOnceEach) {
  const TemporaryDirectory directory;
  const std::string path = directory.path("hotcold.json");
  const Outcome run = larder({"hotcold", "--backend", "fftw", "--hot", "4", "--cold", "2", "--iterations", "20",
                              "--max-idle", "16", "--policy", "lru", "--json", path});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json_of(path)["hot_builds"], 4);
  EXPECT_EQ(json_of(path)["total_builds"], 44);
}

TEST(MeasurePlans, WritesATableThatTraceTakes) {
  const TemporaryDirectory directory;
  const std::string plans = directory.path("plans.csv");
  ASSERT_EQ(larder({"measure-plans", "--lengths", "1", "-o", plans}).code, 0);
  EXPECT_THAT(content_of(plans), testing::MatchesRegex("length,rigor,bytes,build_ns\n"
                                                       "16,estimate,4352,[0-9]+\n"
                                                       "16,measure,4352,[0-9]+\n"));
  EXPECT_EQ(larder({"trace", "zipf", "--costs", "measured", "--measured", plans, "-o", "/dev/null"}).code, 0);
}

TEST(MeasurePlans, BadCallsLeaveNothingBehind) {
  const TemporaryDirectory directory;
  const Outcome run = larder({"measure-plans", "--lengths", "0", "-o", directory.path("plans.csv")});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
  EXPECT_TRUE(directory.is_empty());
}

#else

TEST(ChurnOnFftw, BuildWithoutItSaysSo) {
  const Outcome run = larder({"churn", "--backend", "fftw"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(is_one_line(run.err)) << run.err;
  EXPECT_THAT(run.err, HasSubstr("this build has no fftw back end"));
}

#endif

}  // namespace
}  // namespace larder::test
