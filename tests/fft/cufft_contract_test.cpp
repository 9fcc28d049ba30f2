// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract suite over cuFFT plans, with and without work areas. The caller is always in another context.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/contract_suite.hpp"
#include "fft/cufft_world.hpp"

namespace larder::core_tests {

class CufftKind {
 public:
  using Factory = fft::cufft::PlanFactory;

  CufftKind() { driver_.set_current(callers_); }
  ~CufftKind() { driver_.pop(); }
  CufftKind(const CufftKind&) = delete;
  CufftKind& operator=(const CufftKind&) = delete;

  [[nodiscard]] Factory factory() { return {driver_, cufft_.library(), areas_}; }
  /// Every second one needs a work area.
  [[nodiscard]] fft::cufft::PlanKey key(int number) const {
    const std::int64_t length = number % 2 == 0 ? 11 + number : 5000 + 11 * number;
    return fft::cufft::PlanKey(
        fft::PlanSpec({.lengths = {length}, .precision = fft::Precision::float32, .context = context_}));
  }
  /// Another one at each request.
  [[nodiscard]] gpu::Stream stream(int) { return streams_[requests_.fetch_add(1) % streams_.size()]; }
  [[nodiscard]] std::uint64_t created() const { return cufft_.plans_made(); }
  [[nodiscard]] std::uint64_t destroyed() const { return cufft_.plans_destroyed(); }
  [[nodiscard]] std::vector<std::string> violations() {
    auto all = driver_.violations();
    if (driver_.stack() != std::vector<gpu::Context>{callers_})
      all.emplace_back("the caller's context was not restored");
    return all;
  }
  static void use(const Lease<Factory>& lease) {
    fft::cufft::execute(lease, fft::cufft::array(1), fft::cufft::array(2), fft::Direction::forward);
  }
  void fail_next_create() { cufft_.fail("cufftXtMakePlanMany", 4); }
  void fail_next_destroy() { cufft_.fail("cufftDestroy", 5); }
  void lose_library() {
    driver_.lose_context(context_);
    cufft_.forbid_calls();
  }

 private:
  doubles::SimulatedDriver driver_{2};
  doubles::SimulatedCufft cufft_{driver_};
  gpu::Context context_ = driver_.create_context(0);
  gpu::Context callers_ = driver_.primary_context(1);
  std::array<gpu::Stream, 4> streams_ = make_streams();
  std::shared_ptr<gpu::WorkAreas> areas_ = std::make_shared<gpu::WorkAreas>(driver_);
  std::atomic<std::size_t> requests_{0};

  [[nodiscard]] std::array<gpu::Stream, 4> make_streams() {
    driver_.push(context_);
    return {gpu::Stream{}, driver_.create_stream(), driver_.create_stream(), driver_.create_stream()};
  }
};

using CufftUnderEveryPolicy =
    testing::Types<Under<CufftKind, &Policy::value>, Under<CufftKind, &Policy::lru>, Under<CufftKind, &Policy::gds>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cufft, ContractSuite, CufftUnderEveryPolicy);

}  // namespace larder::core_tests
