// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wisdom: what was learnt goes to a file and comes back; a file that is no wisdom is a clear error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <larder/error.hpp>
#include <larder/fft/fftw.hpp>
#include <string>

namespace larder::fft {
namespace {

using fftw::PlanCache;
using fftw::PlanKey;
using testing::AllOf;
using testing::HasSubstr;

/// Leaves FFTW without wisdom, before and after.
class FftwWisdom : public testing::Test {
 protected:
  FftwWisdom() {
    std::string name = (std::filesystem::temp_directory_path() / "larder-wisdom-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory " + name);
    directory_ = name;
    forget();
  }
  ~FftwWisdom() override {
    forget();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  static void forget() {
    fftwf_forget_wisdom();
    fftw_forget_wisdom();
    fftwl_forget_wisdom();
  }

  [[nodiscard]] std::filesystem::path file(const char* name) const { return directory_ / name; }

  static PlanKey key(unsigned flags, Precision precision = Precision::float64) {
    return PlanKey(PlanSpec::c2c({90}, Direction::forward, precision), {.flags = flags});
  }

  static std::string complaint(Precision precision, const std::filesystem::path& file) {
    try {
      fftw::import_wisdom(precision, file);
      return "";
    } catch (const InvalidArgument& refusal) {
      return refusal.what();
    }
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(FftwWisdom, ExportedAndImportedServesPlansOfItsPrecision) {
  for (const Precision precision : {Precision::float32, Precision::float64, Precision::long_double}) {
    SCOPED_TRACE(to_string(precision));
    PlanCache plans;
    const PlanKey only_known = key(FFTW_MEASURE | FFTW_WISDOM_ONLY, precision);
    EXPECT_THROW((void)plans.acquire(only_known), BuildFailed);
    (void)plans.acquire(key(FFTW_MEASURE, precision));
    fftw::export_wisdom(precision, file("wisdom"));
    forget();
    EXPECT_THROW((void)plans.acquire(only_known), BuildFailed);
    fftw::import_wisdom(precision, file("wisdom"));
    EXPECT_TRUE(plans.acquire(only_known));
  }
}

TEST_F(FftwWisdom, APlanWithoutWisdomSaysSo) {
  PlanCache plans;
  try {
    (void)plans.acquire(key(FFTW_MEASURE | FFTW_WISDOM_ONLY));
    ADD_FAILURE() << "FFTW knew the plan";
  } catch (const BuildFailed& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("no wisdom for this plan"), HasSubstr("c2c 90 forward float64")));
  }
}

TEST_F(FftwWisdom, AMissingFileIsNamed) {
  EXPECT_THAT(complaint(Precision::float64, file("nowhere")),
              AllOf(HasSubstr(file("nowhere").string()), HasSubstr("cannot be read: No such file or directory")));
}

TEST_F(FftwWisdom, ADirectoryIsNoWisdom) {
  EXPECT_THAT(complaint(Precision::float64, file(".")), HasSubstr("is a directory"));
}

TEST_F(FftwWisdom, AFileThatIsNoWisdomChangesNothing) {
  PlanCache plans;
  (void)plans.acquire(key(FFTW_MEASURE));
  std::ofstream(file("poem")) << "Shall I compare thee to a summer's day?\n";
  std::ofstream(file("empty")).flush();
  EXPECT_THAT(complaint(Precision::float64, file("poem")),
              AllOf(HasSubstr(file("poem").string()), HasSubstr("holds no float64 wisdom")));
  EXPECT_THAT(complaint(Precision::float64, file("empty")), HasSubstr("holds no float64 wisdom"));
  EXPECT_TRUE(plans.acquire(key(FFTW_MEASURE | FFTW_WISDOM_ONLY)));
}

TEST_F(FftwWisdom, OfAnotherPrecisionIsRefused) {
  PlanCache plans;
  (void)plans.acquire(key(FFTW_MEASURE));
  fftw::export_wisdom(Precision::float64, file("double"));
  EXPECT_THAT(complaint(Precision::float32, file("double")), HasSubstr("holds no float32 wisdom"));
}

TEST_F(FftwWisdom, AFileThatCannotBeWrittenIsNamed) {
  const std::filesystem::path nowhere = file("no-such-directory") / "wisdom";
  try {
    fftw::export_wisdom(Precision::float64, nowhere);
    ADD_FAILURE() << "written";
  } catch (const InvalidArgument& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr(nowhere.string()), HasSubstr("cannot be written: No such file")));
  }
}

TEST_F(FftwWisdom, HalfPrecisionHasNone) {
  EXPECT_THROW(fftw::export_wisdom(Precision::float16, file("half")), InvalidSpec);
  EXPECT_FALSE(std::filesystem::exists(file("half")));
}

}  // namespace
}  // namespace larder::fft
