// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading cuFFT, and what larder says where there is none; the contexts that keys are made for.
#include <cstdlib>
#include <string>

#include <larder/error.hpp>

#include "fft/cufft_world.hpp"

namespace larder::fft::cufft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Sets a variable for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

template <class Run>
std::string unavailable(Run&& run) {
  try {
    run();
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "available";
}

TEST(CufftLibrary, AMissingLibraryIsNamedAndTriedAgain) {
  {
    const Variable missing("LARDER_CUFFT_LIBRARY", "/nonexistent/libcufft.so");
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(unavailable([] { (void)library(); }),
                  AllOf(HasSubstr("cuFFT"), HasSubstr("LARDER_CUFFT_LIBRARY"), HasSubstr("/nonexistent/libcufft.so")));
    }
  }
  const Variable no_cufft("LARDER_CUFFT_LIBRARY", "libm.so.6");
  EXPECT_THAT(unavailable([] { (void)library(); }), AllOf(HasSubstr("libm.so.6"), HasSubstr("cufft")));
#ifdef LARDER_CUFFT_FILE
  const Variable found("LARDER_CUFFT_LIBRARY", LARDER_CUFFT_FILE);
  EXPECT_THAT(library().path, HasSubstr("libcufft"));
  int version = 0;
  EXPECT_EQ(library().get_version(&version), success);
  EXPECT_GE(version, 10000);
  EXPECT_EQ(library().set_jit_callback != nullptr, version >= 12000);
  EXPECT_EQ(&library(), &library());
#endif
}

TEST(CufftLibrary, WithoutADriverThereIsNoCacheAndNoCurrentContext) {
  const Variable missing("LARDER_CUDA_LIBRARY", "/nonexistent/libcuda.so");
  EXPECT_THAT(unavailable([] { (void)PlanFactory(); }), HasSubstr("LARDER_CUDA_LIBRARY"));
  EXPECT_THAT(unavailable([] { (void)PlanKey(PlanSpec::c2c({8})); }), HasSubstr("LARDER_CUDA_LIBRARY"));
}

TEST(CufftLibrary, EveryResultHasAName) {
  EXPECT_STREQ(name_of(0xA), "CUFFT_INCOMPLETE_PARAMETER_LIST");
  EXPECT_STREQ(name_of(0xC), "CUFFT_PARSE_ERROR");
  EXPECT_STREQ(name_of(0xF), "CUFFT_LICENSE_ERROR");
  for (Result result = 0; result <= 0x14; ++result)
    EXPECT_THAT(name_of(result), testing::StartsWith("CUFFT_")) << result;
  EXPECT_STREQ(name_of(0x15), "unknown cuFFT result");
  EXPECT_STREQ(name_of(-1), "unknown cuFFT result");
}

TEST(CufftLibrary, OnlyAShortageIsWorthAnotherTry) {
  for (Result result = 0; result <= 0x14; ++result)
    EXPECT_EQ(retryable(result), result == 2 || result == 5 || result == 7);
}

class CufftContextOfKeyTest : public CufftTest {};

TEST_F(CufftContextOfKeyTest, IsTheSpecsElseTheCurrentOne) {
  const PlanSpec unbound = PlanSpec::c2c({8});
  EXPECT_EQ(PlanKey(unbound, driver).context(), context);
  EXPECT_EQ(PlanKey(spec(8, other), driver).context(), other);
  EXPECT_EQ(PlanKey(spec(8, other)).context(), other);
  const gpu::CurrentContext elsewhere(driver, other);
  EXPECT_EQ(PlanKey(unbound, driver).context(), other);
  EXPECT_FALSE(PlanKey(unbound, driver) == PlanKey(PlanSpec({.lengths = {8}, .context = context})));
}

TEST_F(CufftContextOfKeyTest, WithoutAnyTheKeyIsRefused) {
  driver.pop();
  try {
    (void)PlanKey(PlanSpec::c2c({8}), driver);
    ADD_FAILURE() << "made";
  } catch (const InvalidSpec& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no device context is current"), HasSubstr("spec.context")));
  }
  driver.push(context);
}

}  // namespace
}  // namespace larder::fft::cufft
