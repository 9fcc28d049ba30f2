// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SimulatedLibraries: cuBLAS, cuSPARSE and the like over a SimulatedDriver, as the tables that larder's calls are made on.
//
// A handle is an object of the driver, which notices uses outside its context or after its end. Every library sees the
// same simulated handle: a stream, and what sticks to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "doubles/simulated_driver.hpp"
#include "src/library/libraries.hpp"

namespace larder::doubles {

/// One at a time: its functions find it through a global variable, as C functions do.
class SimulatedLibraries {
 public:
  /// What a handle has at the moment.
  struct Handle {
    void* stream = nullptr;
    int type = 0;                // of a generator
    std::uint64_t position = 0;  // of a generator: numbers since its start
    std::map<std::string, long long> modes;
  };

  /// @param bytes_per_handle  device memory that each handle holds
  SimulatedLibraries(SimulatedDriver& driver, std::size_t bytes_per_handle)
      : driver_(driver), bytes_per_handle_(bytes_per_handle) {
    instance = this;
  }
  ~SimulatedLibraries() { instance = nullptr; }
  SimulatedLibraries(const SimulatedLibraries&) = delete;
  SimulatedLibraries& operator=(const SimulatedLibraries&) = delete;

  [[nodiscard]] static library::Cublas cublas() {
    return {create, destroy, set_stream, set_mode<0>, set_mode<1>, set_mode<2>, set_mode<3>, set_mode<6>, name_of};
  }
  [[nodiscard]] static library::CublasLt cublaslt() { return {create, destroy, name_of}; }
  [[nodiscard]] static library::Cusparse cusparse() { return {create, destroy, set_stream, set_mode<0>, name_of}; }
  [[nodiscard]] static library::Cusolver cusolver() {
    return {create, destroy, set_stream, set_mode<4>, set_mode<1>, set_mode<6>};
  }
  [[nodiscard]] static library::Curand curand() {
    return {create_generator, destroy, set_stream, set_number<0>, set_number<1>, set_mode<5>, set_dimensions};
  }
  [[nodiscard]] static library::Cudnn cudnn() { return {create, destroy, set_stream, name_of}; }

  /// The next call of that function ("create", "destroy", "set_stream", or a mode's name) gives this result instead.
  void fail_next(const std::string& function, int result) {
    const std::lock_guard lock(mutex_);
    failures_[function] = result;
  }
  /// What a program does with a handle: sets a mode, or asks what is set.
  void set(void* handle, const std::string& mode, long long value) {
    const std::lock_guard lock(mutex_);
    handles_[handle].modes[mode] = value;
  }
  [[nodiscard]] Handle at(void* handle) {
    const std::lock_guard lock(mutex_);
    return handles_[handle];
  }
  /// A generator makes that many numbers.
  void generate(void* generator, std::uint64_t count) {
    launch(generator);
    const std::lock_guard lock(mutex_);
    handles_[generator].position += count;
  }
  /// Gives work on a handle to the stream that is set.
  void launch(void* handle) { driver_.launch(id_of(handle), at(handle).stream); }

 private:
  static inline SimulatedLibraries* instance = nullptr;
  static constexpr const char* modes[] = {"pointer",       "math",     "atomics",  "sm_count",
                                          "deterministic", "ordering", "emulation"};
  static constexpr const char* numbers[] = {"seed", "offset"};

  [[nodiscard]] static ObjectId id_of(void* handle) { return reinterpret_cast<std::uintptr_t>(handle) / 16; }

  [[nodiscard]] int take_failure(const std::string& function) {
    const std::lock_guard lock(mutex_);
    const auto found = failures_.find(function);
    if (found == failures_.end()) return 0;
    const int result = found->second;
    failures_.erase(found);
    return result;
  }
  [[nodiscard]] int make(void** handle, int type) {
    if (const int failure = take_failure("create"); failure != 0) return failure;
    try {
      *handle = reinterpret_cast<void*>(driver_.create_object("handle", bytes_per_handle_) * 16);
    } catch (const gpu::OutOfMemory&) {
      return out_of_memory;
    }
    const std::lock_guard lock(mutex_);
    handles_[*handle] = {.stream = nullptr, .type = type, .position = 0, .modes = {}};
    return 0;
  }
  [[nodiscard]] int set_checked(void* handle, const char* mode, long long value) {
    driver_.touch(id_of(handle), mode);
    if (const int failure = take_failure(mode); failure != 0) return failure;
    set(handle, mode, value);
    return 0;
  }

  static int create(void** handle) { return instance->make(handle, 0); }
  static int create_generator(void** handle, int type) { return instance->make(handle, type); }
  static int destroy(void* handle) {
    instance->driver_.destroy_object(id_of(handle));
    return instance->take_failure("destroy");
  }
  static int set_stream(void* handle, void* stream) {
    instance->driver_.touch(id_of(handle), "set_stream");
    if (const int failure = instance->take_failure("set_stream"); failure != 0) return failure;
    const std::lock_guard lock(instance->mutex_);
    instance->handles_[handle].stream = stream;
    return 0;
  }
  template <int index>
  static int set_mode(void* handle, int value) {
    return instance->set_checked(handle, modes[index], value);
  }
  template <int index>
  static int set_number(void* handle, unsigned long long value) {
    instance->start(handle, numbers[index], static_cast<long long>(value));
    return instance->set_checked(handle, numbers[index], static_cast<long long>(value));
  }
  /// As libcurand does it (real_curand_test.cpp): an offset starts a generator anew, a seed only if it is another one.
  void start(void* generator, const std::string& number, long long value) {
    const std::lock_guard lock(mutex_);
    Handle& handle = handles_[generator];
    const auto set = handle.modes.find(number);
    const long long before = set == handle.modes.end() ? 0 : set->second;
    if (number == "offset" || value != before) handle.position = 0;
  }
  static int set_dimensions(void* handle, unsigned value) {
    return instance->set_checked(handle, "dimensions", static_cast<long long>(value));
  }
  static const char* name_of(int result) { return result == out_of_memory ? "SIMULATED_ALLOC_FAILED" : nullptr; }

  static constexpr int out_of_memory = 3;

  SimulatedDriver& driver_;
  std::size_t bytes_per_handle_;
  std::mutex mutex_;
  std::map<void*, Handle> handles_;
  std::map<std::string, int> failures_;
};

}  // namespace larder::doubles
