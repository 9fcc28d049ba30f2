// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The LARDER_* variables: they override a factory's defaults, code overrides them, and a malformed one is reported on
// stderr and ignored. Each test sets its variables before it makes its caches; ctest gives each a process of its own.
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/world.hpp"

namespace larder::core_tests {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

struct KeepsFour {
  using Key = int;
  using Handle = int;
  static constexpr Budget default_budget{.max_idle = 4};
  int create(int key) { return key; }
  void destroy(int, int) {}
  [[nodiscard]] std::size_t bytes(int, int) const { return 1024; }
};

std::size_t kept(HandleCache<KeepsFour>& cache) {
  for (int key = 0; key < 10; ++key) (void)cache.acquire(key);
  return cache.stats().idle;
}

TEST(EnvironmentTest, MaxIdleOverridesTheFactorysDefault) {
  const Variable variable("LARDER_MAX_IDLE", "6");
  HandleCache<KeepsFour> cache;
  EXPECT_EQ(kept(cache), 6U);
}

TEST(EnvironmentTest, CodeOverridesTheEnvironment) {
  const Variable variable("LARDER_MAX_IDLE", "6");
  HandleCache<KeepsFour> cache({.max_idle = 2});
  EXPECT_EQ(kept(cache), 2U);
  cache.set_budget({.max_idle = 3});
  EXPECT_EQ(kept(cache), 3U);
  cache.set_budget({});
  EXPECT_EQ(kept(cache), 6U);
}

TEST(EnvironmentTest, UnlimitedLiftsTheFactorysDefault) {
  const Variable variable("LARDER_MAX_IDLE", "unlimited");
  HandleCache<KeepsFour> cache;
  EXPECT_EQ(kept(cache), 10U);
}

TEST(EnvironmentTest, MaxIdleBytesTakesUnits) {
  const Variable variable("LARDER_MAX_IDLE_BYTES", "3KiB");
  HandleCache<KeepsFour> cache;
  EXPECT_EQ(kept(cache), 3U);
}

TEST(EnvironmentTest, MaxIdlePerKeyIsRead) {
  const Variable variable("LARDER_MAX_IDLE_PER_KEY", "2");
  HandleCache<KeepsFour> cache;
  {
    const auto a = cache.acquire(1);
    const auto b = cache.acquire(1);
    const auto c = cache.acquire(1);
  }
  EXPECT_EQ(cache.stats().idle, 2U);
}

TEST(EnvironmentTest, MaxIdleAgeIsRead) {
  const Variable variable("LARDER_MAX_IDLE_AGE", "1s");
  ExclusiveWorld world;
  (void)world->acquire(1);
  world.clock.advance(1s);
  EXPECT_EQ(world->stats().idle, 1U);
  world.clock.advance(1ns);
  EXPECT_EQ(world->stats().idle, 0U);
}

TEST(EnvironmentTest, PolicyIsRead) {
  for (const auto& [name, survivor] : std::vector<std::pair<const char*, std::uint64_t>>{{"lru", 1}, {"gds", 0}}) {
    const Variable variable("LARDER_POLICY", name);
    ExclusiveWorld world({.max_idle = 1});
    world.control->set_build_cost(1, 1000ns);
    (void)world->acquire(1);
    (void)world->acquire(2);
    EXPECT_EQ(world.control->survivors(), std::vector<std::uint64_t>{survivor}) << name;
  }
}

TEST(EnvironmentTest, APolicyInCodeOverridesTheEnvironment) {
  const Variable variable("LARDER_POLICY", "gds");
  ExclusiveWorld world({.max_idle = 1}, by_recency());
  world.control->set_build_cost(1, 1000ns);
  (void)world->acquire(1);
  (void)world->acquire(2);
  EXPECT_EQ(world.control->survivors(), std::vector<std::uint64_t>{1});
}

TEST(EnvironmentTest, MaxLiveIsRead) {
  const Variable variable("LARDER_MAX_LIVE", "1");
  ExclusiveWorld world;
  const auto lease = world->acquire(1);
  EXPECT_THROW((void)world->acquire(2, std::chrono::steady_clock::now()), DeadlineExceeded);
}

TEST(EnvironmentTest, AMalformedValueIsReportedAndTheDefaultIsUsed) {
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{{"LARDER_MAX_IDLE", "many"},
                                                                                    {"LARDER_MAX_IDLE", "-3"},
                                                                                    {"LARDER_MAX_IDLE", ""},
                                                                                    {"LARDER_MAX_IDLE_PER_KEY", "1.5"},
                                                                                    {"LARDER_MAX_IDLE_BYTES", "5 MB"},
                                                                                    {"LARDER_MAX_IDLE_AGE", "soon"},
                                                                                    {"LARDER_MAX_LIVE", "x"},
                                                                                    {"LARDER_POLICY", "best"}}) {
    const Variable variable(name, value);
    testing::internal::CaptureStderr();
    HandleCache<KeepsFour> cache;
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(name));
    EXPECT_THAT(said, HasSubstr("'" + std::string(value) + "'"));
    EXPECT_THAT(said, HasSubstr("expected"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(kept(cache), 4U) << name << '=' << value;
  }
}

TEST(EnvironmentTest, AMaxLiveOfZeroIsReportedAndTheDefaultIsUsed) {
  const Variable variable("LARDER_MAX_LIVE", "0");
  testing::internal::CaptureStderr();
  try {
    HandleCache<KeepsFour> cache;
    EXPECT_EQ(kept(cache), 4U);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "a value in the environment must not stop the program: " << error.what();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("LARDER_MAX_LIVE"));
}

TEST(EnvironmentTest, NothingIsSaidOfGoodValues) {
  const Variable count("LARDER_MAX_IDLE", "6");
  const Variable policy("LARDER_POLICY", "gds");
  testing::internal::CaptureStderr();
  HandleCache<KeepsFour> cache;
  (void)kept(cache);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace larder::core_tests
