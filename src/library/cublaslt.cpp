// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/cublaslt.hpp>

#include "../gpu/dynamic_library.hpp"
#include "libraries.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int not_initialized = 1;
constexpr int alloc_failed = 3;
constexpr int internal_error = 14;

class CublasLtCalls final : public Calls {
 public:
  explicit CublasLtCalls(const CublasLt& functions) noexcept : lt_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "cublaslt"; }
  [[nodiscard]] int create(void** handle, int /*sort*/) const override { return lt_.create(handle); }
  [[nodiscard]] int destroy(void* handle) const override { return lt_.destroy(handle); }
  // The stream is given to each call.
  [[nodiscard]] int set_stream(void* /*handle*/, void* /*stream*/) const override { return 0; }
  [[nodiscard]] int reset(void* /*handle*/, int /*sort*/) const override { return 0; }
  [[nodiscard]] std::string name_of(int result) const override { return name_or(lt_.get_status_name, result); }
  [[nodiscard]] bool retryable(int result) const noexcept override {
    return result == not_initialized || result == alloc_failed || result == internal_error;
  }

 private:
  CublasLt lt_;
};

}  // namespace

CublasLt load_cublaslt() {
  const gpu::DynamicLibrary library("cuBLASLt", "LARDER_CUBLASLT_LIBRARY",
                                    {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"});
  CublasLt functions{};
  library.bind(functions.create, "cublasLtCreate");
  library.bind(functions.destroy, "cublasLtDestroy");
  library.bind_optional(functions.get_status_name, "cublasLtGetStatusName");
  return functions;
}

std::unique_ptr<Calls> cublaslt_calls(const CublasLt& functions) { return std::make_unique<CublasLtCalls>(functions); }

}  // namespace larder::library

namespace larder::cublaslt {

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::cublaslt_calls(library::load_cublaslt()); });
}

cublasLtContext* handle(gpu::Stream stream) { return library::handle_of_this_thread(handles(), stream); }

}  // namespace larder::cublaslt
