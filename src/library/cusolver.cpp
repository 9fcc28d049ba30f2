// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/cusolver.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "../gpu/dynamic_library.hpp"
#include "libraries.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int not_initialized = 1;
constexpr int alloc_failed = 2;
constexpr int internal_error = 7;
constexpr int deterministic_results = 1;
constexpr int default_math = 1;
constexpr int default_emulation = 0;

// The library names its results nowhere.
constexpr std::pair<int, const char*> names[] = {
    {1, "CUSOLVER_STATUS_NOT_INITIALIZED"},  {2, "CUSOLVER_STATUS_ALLOC_FAILED"},
    {3, "CUSOLVER_STATUS_INVALID_VALUE"},    {4, "CUSOLVER_STATUS_ARCH_MISMATCH"},
    {5, "CUSOLVER_STATUS_MAPPING_ERROR"},    {6, "CUSOLVER_STATUS_EXECUTION_FAILED"},
    {7, "CUSOLVER_STATUS_INTERNAL_ERROR"},   {8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED"},
    {9, "CUSOLVER_STATUS_NOT_SUPPORTED"},    {10, "CUSOLVER_STATUS_ZERO_PIVOT"},
    {11, "CUSOLVER_STATUS_INVALID_LICENSE"},
};

class CusolverCalls final : public Calls {
 public:
  explicit CusolverCalls(const Cusolver& functions) noexcept : cusolver_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "cusolver"; }
  [[nodiscard]] int create(void** handle, int /*sort*/) const override { return cusolver_.create(handle); }
  [[nodiscard]] int destroy(void* handle) const override { return cusolver_.destroy(handle); }
  [[nodiscard]] int set_stream(void* handle, void* stream) const override {
    return cusolver_.set_stream(handle, stream);
  }
  [[nodiscard]] int reset(void* handle, int /*sort*/) const override {
    return first_failure([&] { return set_if_known(cusolver_.set_deterministic_mode, handle, deterministic_results); },
                         [&] { return set_if_known(cusolver_.set_math_mode, handle, default_math); },
                         [&] { return set_if_known(cusolver_.set_emulation_strategy, handle, default_emulation); });
  }
  [[nodiscard]] std::string name_of(int result) const override {
    const auto* const found =
        std::find_if(std::begin(names), std::end(names), [result](const auto& name) { return name.first == result; });
    return found == std::end(names) ? "unnamed result" : found->second;
  }
  [[nodiscard]] bool retryable(int result) const noexcept override {
    return result == not_initialized || result == alloc_failed || result == internal_error;
  }

 private:
  Cusolver cusolver_;
};

}  // namespace

Cusolver load_cusolver() {
  const gpu::DynamicLibrary library("cuSOLVER", "LARDER_CUSOLVER_LIBRARY", {"libcusolver.so.12", "libcusolver.so.11"});
  Cusolver functions{};
  library.bind(functions.create, "cusolverDnCreate");
  library.bind(functions.destroy, "cusolverDnDestroy");
  library.bind(functions.set_stream, "cusolverDnSetStream");
  library.bind_optional(functions.set_deterministic_mode, "cusolverDnSetDeterministicMode");
  library.bind_optional(functions.set_math_mode, "cusolverDnSetMathMode");
  library.bind_optional(functions.set_emulation_strategy, "cusolverDnSetEmulationStrategy");
  return functions;
}

std::unique_ptr<Calls> cusolver_calls(const Cusolver& functions) { return std::make_unique<CusolverCalls>(functions); }

}  // namespace larder::library

namespace larder::cusolver {

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::cusolver_calls(library::load_cusolver()); });
}

cusolverDnContext* handle(gpu::Stream stream) { return library::handle_of_this_thread(handles(), stream); }

}  // namespace larder::cusolver
