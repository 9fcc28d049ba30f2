// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/cublas.hpp>

#include "../gpu/dynamic_library.hpp"
#include "libraries.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int not_initialized = 1;
constexpr int alloc_failed = 3;
constexpr int internal_error = 14;
constexpr int pointer_mode_host = 0;
constexpr int default_math = 0;
constexpr int atomics_not_allowed = 0;
constexpr int all_multiprocessors = 0;
constexpr int default_emulation = 0;

class CublasCalls final : public Calls {
 public:
  explicit CublasCalls(const Cublas& functions) noexcept : cublas_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "cublas"; }
  [[nodiscard]] int create(void** handle, int /*sort*/) const override { return cublas_.create(handle); }
  [[nodiscard]] int destroy(void* handle) const override { return cublas_.destroy(handle); }
  // This also gives the handle its own workspace again (cuBLAS manual, cublasSetWorkspace).
  [[nodiscard]] int set_stream(void* handle, void* stream) const override { return cublas_.set_stream(handle, stream); }
  [[nodiscard]] int reset(void* handle, int /*sort*/) const override {
    return first_failure([&] { return cublas_.set_pointer_mode(handle, pointer_mode_host); },
                         [&] { return cublas_.set_math_mode(handle, default_math); },
                         [&] { return cublas_.set_atomics_mode(handle, atomics_not_allowed); },
                         [&] { return set_if_known(cublas_.set_sm_count_target, handle, all_multiprocessors); },
                         [&] { return set_if_known(cublas_.set_emulation_strategy, handle, default_emulation); });
  }
  [[nodiscard]] std::string name_of(int result) const override { return name_or(cublas_.get_status_name, result); }
  // Where memory is short, cublasCreate may fail at setting the handle up.
  [[nodiscard]] bool retryable(int result) const noexcept override {
    return result == not_initialized || result == alloc_failed || result == internal_error;
  }

 private:
  Cublas cublas_;
};

}  // namespace

Cublas load_cublas() {
  const gpu::DynamicLibrary library("cuBLAS", "LARDER_CUBLAS_LIBRARY",
                                    {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});
  Cublas functions{};
  library.bind(functions.create, "cublasCreate_v2");
  library.bind(functions.destroy, "cublasDestroy_v2");
  library.bind(functions.set_stream, "cublasSetStream_v2");
  library.bind(functions.set_pointer_mode, "cublasSetPointerMode_v2");
  library.bind(functions.set_math_mode, "cublasSetMathMode");
  library.bind(functions.set_atomics_mode, "cublasSetAtomicsMode");
  library.bind_optional(functions.set_sm_count_target, "cublasSetSmCountTarget");
  library.bind_optional(functions.set_emulation_strategy, "cublasSetEmulationStrategy");
  library.bind_optional(functions.get_status_name, "cublasGetStatusName");
  return functions;
}

std::unique_ptr<Calls> cublas_calls(const Cublas& functions) { return std::make_unique<CublasCalls>(functions); }

}  // namespace larder::library

namespace larder::cublas {

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::cublas_calls(library::load_cublas()); });
}

cublasContext* handle(gpu::Stream stream) { return library::handle_of_this_thread(handles(), stream); }

}  // namespace larder::cublas
