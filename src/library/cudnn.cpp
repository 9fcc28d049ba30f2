// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/cudnn.hpp>

#include "../gpu/dynamic_library.hpp"
#include "libraries.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int not_initialized_8 = 1;  // as cuDNN 8 numbers it
constexpr int alloc_failed_8 = 2;
constexpr int not_initialized = 1001;
constexpr int internal_error = 4000;
constexpr int device_allocation_failed = 4004;

class CudnnCalls final : public Calls {
 public:
  explicit CudnnCalls(const Cudnn& functions) noexcept : cudnn_(functions) {}
  [[nodiscard]] const char* name() const noexcept override { return "cudnn"; }
  [[nodiscard]] int create(void** handle, int /*sort*/) const override { return cudnn_.create(handle); }
  [[nodiscard]] int destroy(void* handle) const override { return cudnn_.destroy(handle); }
  [[nodiscard]] int set_stream(void* handle, void* stream) const override { return cudnn_.set_stream(handle, stream); }
  [[nodiscard]] int reset(void* /*handle*/, int /*sort*/) const override { return 0; }
  [[nodiscard]] std::string name_of(int result) const override { return name_or(cudnn_.get_error_string, result); }
  [[nodiscard]] bool retryable(int result) const noexcept override {
    return result == not_initialized_8 || result == alloc_failed_8 || result == not_initialized ||
           result == internal_error || result == device_allocation_failed;
  }

 private:
  Cudnn cudnn_;
};

}  // namespace

Cudnn load_cudnn() {
  const gpu::DynamicLibrary library("cuDNN", "LARDER_CUDNN_LIBRARY", {"libcudnn.so.9", "libcudnn.so.8"});
  Cudnn functions{};
  library.bind(functions.create, "cudnnCreate");
  library.bind(functions.destroy, "cudnnDestroy");
  library.bind(functions.set_stream, "cudnnSetStream");
  library.bind_optional(functions.get_error_string, "cudnnGetErrorString");
  return functions;
}

std::unique_ptr<Calls> cudnn_calls(const Cudnn& functions) { return std::make_unique<CudnnCalls>(functions); }

}  // namespace larder::library

namespace larder::cudnn {

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::cudnn_calls(library::load_cudnn()); });
}

cudnnContext* handle(gpu::Stream stream) { return library::handle_of_this_thread(handles(), stream); }

}  // namespace larder::cudnn
