// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the handles of all GPU libraries have in common: cuBLAS, cuSPARSE and the like each add only their functions.
//
// A handle carries the stream that it works on and modes that stick to it, so it is exclusive: a lease sets the stream, and
// the modes are put back when it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <larder/gpu/context.hpp>
#include <larder/gpu/driver.hpp>
#include <larder/gpu/stream_ordered.hpp>
#include <larder/handle_cache.hpp>

namespace larder::library {

/// What a handle is for: a context, and for libraries with several sorts of handles (cuRAND), the sort.
class HandleKey {
 public:
  explicit HandleKey(const gpu::Context& context, int sort = 0) noexcept : context_(context), sort_(sort) {}
  [[nodiscard]] const gpu::Context& context() const noexcept { return context_; }
  [[nodiscard]] int sort() const noexcept { return sort_; }
  friend bool operator==(const HandleKey&, const HandleKey&) = default;

 private:
  gpu::Context context_;
  int sort_;
};

}  // namespace larder::library

template <>
struct std::hash<larder::library::HandleKey> {
  std::size_t operator()(const larder::library::HandleKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.context().id * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(key.sort()));
  }
};

namespace larder::library {

/// How one library makes, uses and destroys its handles. Members give the library's own result, 0 for success, and are
/// called with the handle's context current.
class Calls {
 public:
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  virtual ~Calls() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  [[nodiscard]] virtual int create(void** handle, int sort) const = 0;
  [[nodiscard]] virtual int destroy(void* handle) const = 0;
  [[nodiscard]] virtual int set_stream(void* handle, void* stream) const = 0;
  /// Puts what sticks to a handle of that sort back to what a new one has.
  [[nodiscard]] virtual int reset(void* handle, int sort) const = 0;
  [[nodiscard]] virtual std::string name_of(int result) const = 0;
  /// Whether that result of create may mean that memory is short.
  [[nodiscard]] virtual bool retryable(int result) const noexcept = 0;
  /// What a handle counts for that seems to hold less.
  [[nodiscard]] virtual std::size_t least_bytes() const noexcept { return std::size_t{64} << 10; }
};

/// A handle without its type.
struct UntypedHandle {
  void* native = nullptr;
  std::size_t bytes = 0;
};

/// A handle; converts to the vendor's type.
template <class Native>
struct DeviceHandle : UntypedHandle {
  operator Native() const noexcept { return static_cast<Native>(native); }  // NOLINT(google-explicit-constructor)
};

/// The calls on a library that do not depend on the handle's type.
class UntypedFactory : public gpu::StreamOrdered<HandleKey> {
 public:
  /// @param driver  must outlive the cache and its leases
  UntypedFactory(gpu::Driver& driver, std::shared_ptr<const Calls> calls)
      : StreamOrdered(driver), calls_(std::move(calls)) {}

  [[nodiscard]] std::string describe(const HandleKey& key) const;
  [[nodiscard]] const Calls& calls() const noexcept { return *calls_; }

 protected:
  [[nodiscard]] UntypedHandle create_untyped(const HandleKey& key);
  void destroy_untyped(const UntypedHandle& handle);
  void set_stream(const HandleKey& key, const UntypedHandle& handle, gpu::Stream stream);
  void reset_untyped(const HandleKey& key, const UntypedHandle& handle);

 private:
  std::shared_ptr<const Calls> calls_;
};

/// Makes the handles of one library; see HandleFactory. Native is the vendor's handle type, a pointer.
template <class Native>
class DeviceHandleFactory : public UntypedFactory {
 public:
  using Key = HandleKey;
  using Handle = DeviceHandle<Native>;
  /// The dearest (cuSOLVER, 96 MiB on an H200) take 768 MiB then.
  static constexpr Budget default_budget{.max_idle = 8};
  static constexpr bool bytes_fixed = true;
  using UntypedFactory::UntypedFactory;

  /// @throws BuildFailed
  Handle create(const HandleKey& key) { return {create_untyped(key)}; }
  /// @throws Error
  void destroy(const HandleKey&, const Handle& handle) { destroy_untyped(handle); }
  void prepare(const HandleKey& key, Handle& handle, gpu::Stream stream, StreamState) {
    set_stream(key, handle, stream);
  }
  void reset(const HandleKey& key, Handle& handle) { reset_untyped(key, handle); }
  /// The fall of the device's free memory while the handle was made, or Calls::least_bytes() if that is more. What others
  /// allocated meanwhile is counted too; what a handle allocates later (cuBLAS: a larger workspace) no library tells.
  [[nodiscard]] std::size_t bytes(const HandleKey&, const Handle& handle) const noexcept { return handle.bytes; }
};

/// The key of the calling thread's current context.
/// @throws Error when there is none
[[nodiscard]] HandleKey key_of_current_context(gpu::Driver& driver, int sort = 0);

}  // namespace larder::library
