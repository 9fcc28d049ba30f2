// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/gpu/dynamic_library.hpp"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <larder/error.hpp>

namespace larder::gpu_tests {
namespace {

using gpu::DynamicLibrary;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* variable = "LARDER_TESTED_LIBRARY";

class DynamicLibraryTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv(variable); }
  [[nodiscard]] static std::string failure_of(std::initializer_list<const char*> sonames) {
    try {
      const DynamicLibrary library("Tested", variable, sonames);
      return "no failure";
    } catch (const BackendUnavailable& missing) {
      return missing.what();
    }
  }
};

TEST_F(DynamicLibraryTest, TheFirstSonameThatIsFoundIsLoaded) {
  const DynamicLibrary library("Tested", variable, {"libno_such_thing.so.2", LARDER_LOADABLE, "libno_such_thing.so.1"});
  int (*answer)() = nullptr;
  library.bind(answer, "larder_answer");
  EXPECT_EQ(answer(), 42);
  EXPECT_EQ(library.path(), LARDER_LOADABLE);
}

TEST_F(DynamicLibraryTest, TheVariableComesBeforeAllSonames) {
  setenv(variable, LARDER_LOADABLE, 1);
  const DynamicLibrary library("Tested", variable, {"libc.so.6"});
  int (*answer)() = nullptr;
  library.bind(answer, "larder_answer");
  EXPECT_EQ(answer(), 42);
}

TEST_F(DynamicLibraryTest, AnEmptyVariableIsNoVariable) {
  setenv(variable, "", 1);
  const DynamicLibrary library("Tested", variable, {LARDER_LOADABLE});
  EXPECT_EQ(library.path(), LARDER_LOADABLE);
}

TEST_F(DynamicLibraryTest, AMissingLibraryTellsWhatWasLookedForAndHowToPointAtIt) {
  EXPECT_THAT(failure_of({"libno_such_thing.so.2", "libno_such_thing.so.1"}),
              AllOf(HasSubstr("Tested"), HasSubstr("libno_such_thing.so.2"), HasSubstr("libno_such_thing.so.1"),
                    HasSubstr(variable)));
}

TEST_F(DynamicLibraryTest, AVariableThatNamesNothingTellsTheValueAndNothingElseIsTried) {
  setenv(variable, "/nowhere/libx.so", 1);
  EXPECT_THAT(failure_of({LARDER_LOADABLE}), AllOf(HasSubstr(variable), HasSubstr("'/nowhere/libx.so'")));
}

TEST_F(DynamicLibraryTest, AMissingFunctionTellsTheFileAndTheFunction) {
  const DynamicLibrary library("Tested", variable, {LARDER_LOADABLE});
  int (*absent)() = nullptr;
  library.bind_optional(absent, "larder_no_answer");
  EXPECT_EQ(absent, nullptr);
  try {
    library.bind(absent, "larder_no_answer");
    FAIL() << "no error";
  } catch (const BackendUnavailable& missing) {
    EXPECT_THAT(missing.what(), AllOf(HasSubstr(LARDER_LOADABLE), HasSubstr("larder_no_answer")));
  }
}

}  // namespace
}  // namespace larder::gpu_tests
