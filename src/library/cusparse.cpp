// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/cusparse.hpp>

#include "../gpu/dynamic_library.hpp"
#include "libraries.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int not_initialized = 1;
constexpr int alloc_failed = 2;
constexpr int insufficient_resources = 11;
constexpr int pointer_mode_host = 0;

class CusparseCalls final : public Calls {
 public:
  explicit CusparseCalls(const Cusparse& functions) noexcept : cusparse_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "cusparse"; }
  [[nodiscard]] int create(void** handle, int /*sort*/) const override { return cusparse_.create(handle); }
  [[nodiscard]] int destroy(void* handle) const override { return cusparse_.destroy(handle); }
  [[nodiscard]] int set_stream(void* handle, void* stream) const override {
    return cusparse_.set_stream(handle, stream);
  }
  [[nodiscard]] int reset(void* handle, int /*sort*/) const override {
    return cusparse_.set_pointer_mode(handle, pointer_mode_host);
  }
  [[nodiscard]] std::string name_of(int result) const override { return name_or(cusparse_.get_error_name, result); }
  [[nodiscard]] bool retryable(int result) const noexcept override {
    return result == not_initialized || result == alloc_failed || result == insufficient_resources;
  }

 private:
  Cusparse cusparse_;
};

}  // namespace

Cusparse load_cusparse() {
  const gpu::DynamicLibrary library("cuSPARSE", "LARDER_CUSPARSE_LIBRARY", {"libcusparse.so.12", "libcusparse.so.11"});
  Cusparse functions{};
  library.bind(functions.create, "cusparseCreate");
  library.bind(functions.destroy, "cusparseDestroy");
  library.bind(functions.set_stream, "cusparseSetStream");
  library.bind(functions.set_pointer_mode, "cusparseSetPointerMode");
  library.bind_optional(functions.get_error_name, "cusparseGetErrorName");
  return functions;
}

std::unique_ptr<Calls> cusparse_calls(const Cusparse& functions) { return std::make_unique<CusparseCalls>(functions); }

}  // namespace larder::library

namespace larder::cusparse {

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::cusparse_calls(library::load_cusparse()); });
}

cusparseContext* handle(gpu::Stream stream) { return library::handle_of_this_thread(handles(), stream); }

}  // namespace larder::cusparse
