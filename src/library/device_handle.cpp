// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/device_handle.hpp>

#include <algorithm>

#include <larder/error.hpp>
#include <larder/gpu/current_context.hpp>

namespace larder::library {

namespace {

void check(const Calls& calls, int result, const char* what) {
  if (result == 0) return;
  throw Error(std::string(calls.name()) + ": " + what + " failed: " + calls.name_of(result) + " (" +
              std::to_string(result) + ")");
}

/// Free memory of the current context's device; 0 when the driver does not tell: a measure is no reason to fail.
std::size_t free_memory(gpu::Driver& driver) noexcept {
  try {
    return driver.memory().free;
  } catch (...) {
    return 0;
  }
}

}  // namespace

std::string UntypedFactory::describe(const HandleKey& key) const {
  std::string text = std::string(calls_->name()) + " handle";
  if (key.sort() != 0) text += " of type " + std::to_string(key.sort());
  return text + " in context " + std::to_string(key.context().id);
}

UntypedHandle UntypedFactory::create_untyped(const HandleKey& key) {
  const std::size_t free_before = free_memory(driver());
  UntypedHandle handle;
  const int result = calls_->create(&handle.native, key.sort());
  if (result != 0) {
    throw BuildFailed(calls_->name(), result, calls_->name_of(result), describe(key),
                      calls_->retryable(result) ? Retry::after_reclaim : Retry::no);
  }
  const std::size_t free_after = free_memory(driver());
  const std::size_t fall = free_after == 0 ? 0 : free_before - std::min(free_before, free_after);
  handle.bytes = std::max(fall, calls_->least_bytes());
  return handle;
}

void UntypedFactory::destroy_untyped(const UntypedHandle& handle) {
  check(*calls_, calls_->destroy(handle.native), "destroying a handle");
}

void UntypedFactory::set_stream(const HandleKey& key, const UntypedHandle& handle, gpu::Stream stream) {
  const gpu::CurrentContext inside = enter(key);
  check(*calls_, calls_->set_stream(handle.native, stream.native()), "setting the stream of a handle");
}

void UntypedFactory::reset_untyped(const HandleKey& key, const UntypedHandle& handle) {
  const gpu::CurrentContext inside = enter(key);
  // A handle that nobody uses must not know a stream that may go.
  check(*calls_, calls_->set_stream(handle.native, nullptr), "taking the stream of a handle away");
  check(*calls_, calls_->reset(handle.native, key.sort()), "resetting a handle");
}

HandleKey key_of_current_context(gpu::Driver& driver, int sort) {
  const gpu::Context context = driver.current();
  if (context == gpu::Context{}) {
    throw Error("this thread has no current device context; call cudaSetDevice (or cuCtxSetCurrent) first");
  }
  return HandleKey(context, sort);
}

}  // namespace larder::library
