// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract suite over cuBLAS's handles and over cuRAND's generators, both simulated.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <larder/library/cublas.hpp>
#include <larder/library/curand.hpp>

#include "core/contract_suite.hpp"
#include "doubles/simulated_driver.hpp"
#include "doubles/simulated_libraries.hpp"

namespace larder::core_tests {
namespace {

/// Keys are told apart by the sort of a handle. The caller is always in another context, on another device.
template <class TheFactory, auto make_calls, auto make_table, int create_failure>
class LibraryKind {
 public:
  using Factory = TheFactory;

  LibraryKind() { driver_.set_current(callers_); }
  ~LibraryKind() { driver_.pop(); }
  LibraryKind(const LibraryKind&) = delete;
  LibraryKind& operator=(const LibraryKind&) = delete;

  [[nodiscard]] Factory factory() { return {driver_, make_calls(make_table())}; }
  [[nodiscard]] library::HandleKey key(int number) const { return library::HandleKey(context_, number); }
  /// Another one at each request.
  [[nodiscard]] gpu::Stream stream(int) { return streams_[requests_.fetch_add(1) % streams_.size()]; }
  [[nodiscard]] std::uint64_t created() { return driver_.objects_created(); }
  [[nodiscard]] std::uint64_t destroyed() { return driver_.objects_destroyed(); }
  [[nodiscard]] std::vector<std::string> violations() {
    auto all = driver_.violations();
    if (driver_.stack() != std::vector<gpu::Context>{callers_})
      all.emplace_back("the caller's context was not restored");
    return all;
  }
  void use(const Lease<Factory>& lease) {
    const gpu::CurrentContext inside(driver_, context_);
    void* const handle = *lease;
    libraries_.set(handle, "pointer", 1);
    libraries_.launch(handle);
  }
  void fail_next_create() { libraries_.fail_next("create", create_failure); }
  void fail_next_destroy() { libraries_.fail_next("destroy", create_failure); }
  void lose_library() { driver_.lose_context(context_); }

 private:
  doubles::SimulatedDriver driver_{2};
  doubles::SimulatedLibraries libraries_{driver_, 1000};
  gpu::Context context_ = driver_.create_context(0);
  gpu::Context callers_ = driver_.primary_context(1);
  std::array<gpu::Stream, 4> streams_ = make_streams();
  std::atomic<std::size_t> requests_{0};

  [[nodiscard]] std::array<gpu::Stream, 4> make_streams() {
    driver_.push(context_);
    return {gpu::Stream{}, driver_.create_stream(), driver_.create_stream(), driver_.create_stream()};
  }
};

// Failures for which nothing is tried again: CUBLAS_STATUS_ARCH_MISMATCH, CURAND_STATUS_TYPE_ERROR.
using CublasKind = LibraryKind<cublas::HandleFactory, &library::cublas_calls, &doubles::SimulatedLibraries::cublas, 8>;
using CurandKind =
    LibraryKind<curand::HandleFactory, &library::curand_calls, &doubles::SimulatedLibraries::curand, 103>;

template <class Kind>
using UnderEveryPolicy =
    testing::Types<Under<Kind, &Policy::value>, Under<Kind, &Policy::lru>, Under<Kind, &Policy::gds>>;

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Cublas, ContractSuite, UnderEveryPolicy<CublasKind>);
INSTANTIATE_TYPED_TEST_SUITE_P(Curand, ContractSuite, UnderEveryPolicy<CurandKind>);

}  // namespace larder::core_tests
