// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/gpu/cuda.hpp>

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cuda_library.hpp"

namespace larder::gpu {

namespace cuda_abi {

Library::Library() : file("The CUDA driver", "LARDER_CUDA_LIBRARY", {"libcuda.so.1", "libcuda.so"}) {
  file.bind(init, "cuInit");
  file.bind(driver_get_version, "cuDriverGetVersion");
  file.bind(get_error_name, "cuGetErrorName");
  file.bind(device_get_count, "cuDeviceGetCount");
  file.bind(device_get, "cuDeviceGet");
  file.bind(device_get_name, "cuDeviceGetName");
  file.bind(device_total_mem, "cuDeviceTotalMem_v2");
  file.bind(device_primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  file.bind(ctx_get_current, "cuCtxGetCurrent");
  file.bind(ctx_set_current, "cuCtxSetCurrent");
  file.bind(ctx_push_current, "cuCtxPushCurrent_v2");
  file.bind(ctx_pop_current, "cuCtxPopCurrent_v2");
  file.bind(ctx_get_id, "cuCtxGetId");
  file.bind(mem_get_info, "cuMemGetInfo_v2");
  file.bind(mem_alloc, "cuMemAlloc_v2");
  file.bind(mem_free, "cuMemFree_v2");
  file.bind(mem_free_async, "cuMemFreeAsync");
  file.bind(stream_get_id, "cuStreamGetId");
  file.bind(stream_is_capturing, "cuStreamIsCapturing");
  file.bind(stream_get_capture_info, "cuStreamGetCaptureInfo_v2");
  file.bind(stream_wait_event, "cuStreamWaitEvent");
  file.bind(thread_exchange_stream_capture_mode, "cuThreadExchangeStreamCaptureMode");
  file.bind(event_create, "cuEventCreate");
  file.bind(event_destroy, "cuEventDestroy_v2");
  file.bind(event_record, "cuEventRecord");
  file.bind(event_query, "cuEventQuery");
  file.bind(event_synchronize, "cuEventSynchronize");
}

}  // namespace cuda_abi

namespace {

using namespace cuda_abi;  // NOLINT(google-build-using-namespace): the vendor's vocabulary, in this file only

// cudaStreamLegacy and cudaStreamPerThread are small numbers.
constexpr std::uintptr_t last_default_stream = 2;

class CudaDriver final : public Driver {
 public:
  CudaDriver() {
    const auto usable = [this](Result result, const char* call) {
      if (result == success) return;
      throw BackendUnavailable("The CUDA driver (" + cuda_.file.path() + ") finds no device: " + call + " gives " +
                               name_of(result) + " (" + std::to_string(result) +
                               "); check nvidia-smi and CUDA_VISIBLE_DEVICES");
    };
    usable(cuda_.init(0), "cuInit");
    usable(cuda_.device_get_count(&device_count_), "cuDeviceGetCount");
    if (device_count_ == 0) {
      throw BackendUnavailable("The CUDA driver (" + cuda_.file.path() +
                               ") finds no device; check nvidia-smi and CUDA_VISIBLE_DEVICES");
    }
  }

  [[nodiscard]] const char* name() const noexcept override { return "cuda"; }
  [[nodiscard]] int device_count() override { return device_count_; }

  [[nodiscard]] CudaInstallation installation() const {
    CudaInstallation found;
    found.library = cuda_.file.path();
    check(cuda_.driver_get_version(&found.version), "cuDriverGetVersion");
    for (int i = 0; i < device_count_; ++i) {
      CudaDevice& device = found.devices.emplace_back();
      std::array<char, 256> text{};
      check(cuda_.device_get_name(text.data(), static_cast<int>(text.size()), device_number(i)), "cuDeviceGetName");
      device.name = text.data();
      check(cuda_.device_total_mem(&device.memory, device_number(i)), "cuDeviceTotalMem");
    }
    return found;
  }

  // --- Contexts ------------------------------------------------------------------------------------------------------

  [[nodiscard]] Context primary_context(int device) override {
    const std::lock_guard lock(primary_mutex_);
    const auto known = primary_.find(device);
    if (known != primary_.end() && alive(known->second)) return known->second;
    Ctx context = nullptr;
    check(cuda_.device_primary_ctx_retain(&context, device_number(device)), "cuDevicePrimaryCtxRetain");
    return primary_[device] = with_id(context);
  }
  [[nodiscard]] Context current() override {
    Ctx context = nullptr;
    check(cuda_.ctx_get_current(&context), "cuCtxGetCurrent");
    return context == nullptr ? Context{} : with_id(context);
  }
  [[nodiscard]] bool alive(const Context& context) noexcept override {
    unsigned long long id = 0;
    return context.native != nullptr && cuda_.ctx_get_id(context.native, &id) == success && id + 1 == context.id;
  }
  void push(const Context& context) override {
    if (!alive(context)) {
      throw DriverError("cuCtxPushCurrent of context " + std::to_string(context.id), context_is_destroyed,
                        name_of(context_is_destroyed));
    }
    check(cuda_.ctx_push_current(context.native), "cuCtxPushCurrent");
  }
  void pop() noexcept override {
    Ctx popped = nullptr;
    (void)cuda_.ctx_pop_current(&popped);
  }
  [[nodiscard]] bool is_current(const Context& context) noexcept override {
    Ctx now = nullptr;
    if (cuda_.ctx_get_current(&now) != success || now != context.native) return false;
    return now == nullptr || alive(context);
  }
  void set_current(const Context& context) noexcept override { (void)cuda_.ctx_set_current(context.native); }

  // --- Memory --------------------------------------------------------------------------------------------------------

  [[nodiscard]] MemoryInfo memory() override {
    MemoryInfo info;
    check(cuda_.mem_get_info(&info.free, &info.total), "cuMemGetInfo");
    return info;
  }
  // Not from a memory pool: that memory could not be freed safely once its stream has gone, except by waiting for the whole
  // context, which breaks every capture in it.
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    Pointer memory = 0;
    check(cuda_.mem_alloc(&memory, bytes), "cuMemAlloc");
    return std::bit_cast<void*>(memory);
  }
  void free(void* memory, Stream stream) noexcept override {
    if (cuda_.mem_free_async(reinterpret_cast<Pointer>(memory), stream.native()) != success) free_when_idle(memory);
  }
  void free_when_idle(void* memory) noexcept override { (void)cuda_.mem_free(reinterpret_cast<Pointer>(memory)); }
  // cuCtxSynchronize would break every capture in the context, in any mode; freeing memory waits as well, and breaks none.
  void wait_until_idle() override { free_when_idle(allocate(1)); }

  // --- Streams -------------------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_default(Stream stream) const noexcept override {
    return reinterpret_cast<std::uintptr_t>(stream.native()) <= last_default_stream;
  }
  [[nodiscard]] std::uint64_t stream_id(Stream stream) override {
    unsigned long long id = 0;
    check(cuda_.stream_get_id(stream.native(), &id), "cuStreamGetId");
    return id + 1;  // the first id is 0
  }
  [[nodiscard]] std::uint64_t capture_id(Stream stream) override {
    int status = capture_status_none;
    const Result result = cuda_.stream_is_capturing(stream.native(), &status);
    // The legacy default stream cannot be captured; it cannot be asked either while another stream is.
    if (result == stream_capture_implicit) return 0;
    check(result, "cuStreamIsCapturing");
    if (status != capture_status_active) return 0;
    std::uint64_t id = 0;
    check(cuda_.stream_get_capture_info(stream.native(), &status, &id, nullptr, nullptr, nullptr),
          "cuStreamGetCaptureInfo");
    return id + 1;
  }
  [[nodiscard]] int relax_capture_mode() noexcept override { return exchange_capture_mode(capture_mode_relaxed); }
  void restore_capture_mode(int mode) noexcept override { (void)exchange_capture_mode(mode); }

  // --- Events --------------------------------------------------------------------------------------------------------

  [[nodiscard]] NativeEvent create_event() override {
    Ev event = nullptr;
    check(cuda_.event_create(&event, event_disable_timing), "cuEventCreate");
    return event;
  }
  void destroy_event(NativeEvent event) override { check(cuda_.event_destroy(event), "cuEventDestroy"); }
  void record(NativeEvent event, Stream stream) override {
    check(cuda_.event_record(event, stream.native()), "cuEventRecord");
  }
  void wait(Stream stream, NativeEvent event) override {
    check(cuda_.stream_wait_event(stream.native(), event, 0), "cuStreamWaitEvent");
  }
  [[nodiscard]] bool done(NativeEvent event) override {
    const Result result = cuda_.event_query(event);
    if (result == not_ready) return false;
    check(result, "cuEventQuery");
    return true;
  }
  void synchronize(NativeEvent event) override { check(cuda_.event_synchronize(event), "cuEventSynchronize"); }

 private:
  static constexpr Result context_is_destroyed = 709;

  [[nodiscard]] std::string name_of(Result result) const {
    const char* name = nullptr;
    return cuda_.get_error_name(result, &name) == success && name != nullptr ? name : "unknown error";
  }
  void check(Result result, const char* call) const {
    if (result == success) [[likely]]
      return;
    if (result == out_of_memory) throw OutOfMemory(call, result, name_of(result));
    throw DriverError(call, result, name_of(result));
  }
  [[nodiscard]] Context with_id(Ctx context) const {
    unsigned long long id = 0;
    check(cuda_.ctx_get_id(context, &id), "cuCtxGetId");
    return {context, id + 1};  // 0 means no context
  }
  [[nodiscard]] Device device_number(int ordinal) const {
    Device device = 0;
    check(cuda_.device_get(&device, ordinal), "cuDeviceGet");
    return device;
  }
  [[nodiscard]] int exchange_capture_mode(int mode) const noexcept {
    (void)cuda_.thread_exchange_stream_capture_mode(&mode);
    return mode;
  }

  Library cuda_;
  int device_count_ = 0;
  std::mutex primary_mutex_;
  std::map<int, Context> primary_;
};

CudaDriver& loaded() {
  static CudaDriver& driver = *new CudaDriver;  // never destroyed: caches in static storage use it at exit
  return driver;
}

}  // namespace

Driver& cuda() { return loaded(); }

CudaInstallation cuda_installation() { return loaded().installation(); }

}  // namespace larder::gpu
