// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/curand.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <larder/error.hpp>
#include <larder/gpu/current_context.hpp>

#include "../gpu/dynamic_library.hpp"
#include "curand_calls.hpp"
#include "process_handles.hpp"

namespace larder::library {

namespace {

constexpr int allocation_failed = 102;
constexpr int initialization_failed = 203;
constexpr int internal_error = 999;

// curandRngType_t
constexpr int mtgp32 = 141;
constexpr int mt19937 = 142;
constexpr int first_quasi = 200;
// curandOrdering_t
constexpr int pseudo_default = 101;
constexpr int quasi_default = 201;

[[nodiscard]] bool is_quasi(int type) noexcept { return type >= first_quasi; }
[[nodiscard]] bool takes_offset(int type) noexcept { return type != mtgp32 && type != mt19937; }

// The library names its results nowhere.
constexpr std::pair<int, const char*> names[] = {
    {100, "CURAND_STATUS_VERSION_MISMATCH"},
    {101, "CURAND_STATUS_NOT_INITIALIZED"},
    {102, "CURAND_STATUS_ALLOCATION_FAILED"},
    {103, "CURAND_STATUS_TYPE_ERROR"},
    {104, "CURAND_STATUS_OUT_OF_RANGE"},
    {105, "CURAND_STATUS_LENGTH_NOT_MULTIPLE"},
    {106, "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED"},
    {201, "CURAND_STATUS_LAUNCH_FAILURE"},
    {202, "CURAND_STATUS_PREEXISTING_FAILURE"},
    {203, "CURAND_STATUS_INITIALIZATION_FAILED"},
    {204, "CURAND_STATUS_ARCH_MISMATCH"},
    {999, "CURAND_STATUS_INTERNAL_ERROR"},
};

}  // namespace

std::string CurandCalls::name_of(int result) const {
  const auto* const found =
      std::find_if(std::begin(names), std::end(names), [result](const auto& name) { return name.first == result; });
  return found == std::end(names) ? "unnamed result" : found->second;
}

bool CurandCalls::retryable(int result) const noexcept {
  return result == allocation_failed || result == initialization_failed || result == internal_error;
}

CurandCalls::Started CurandCalls::start(void* generator, int type, const curand::Start& start) const {
  const bool quasi = is_quasi(type);
  if (const int result =
          curand_.set_ordering(generator, start.ordering.value_or(quasi ? quasi_default : pseudo_default));
      result != 0) {
    return {result, "ordering"};
  }
  if (quasi) {
    const int result = curand_.set_dimensions(generator, start.dimensions.value_or(1));
    if (result != 0) return {result, "dimensions"};
  } else {
    const std::uint64_t seed = start.seed.value_or(0);
    // The seed that a generator has already changes nothing: it goes on where it is. Setting an offset starts it anew all
    // the same, but where there is none only another seed does.
    int result = takes_offset(type) ? 0 : curand_.set_seed(generator, ~seed);
    if (result == 0) result = curand_.set_seed(generator, seed);
    if (result != 0) return {result, "seed"};
  }
  if (takes_offset(type)) {
    const int result = curand_.set_offset(generator, start.offset.value_or(0));
    if (result != 0) return {result, "offset"};
  }
  return {};
}

Curand load_curand() {
  const gpu::DynamicLibrary library("cuRAND", "LARDER_CURAND_LIBRARY", {"libcurand.so.10"});
  Curand functions{};
  library.bind(functions.create, "curandCreateGenerator");
  library.bind(functions.destroy, "curandDestroyGenerator");
  library.bind(functions.set_stream, "curandSetStream");
  library.bind(functions.set_seed, "curandSetPseudoRandomGeneratorSeed");
  library.bind(functions.set_offset, "curandSetGeneratorOffset");
  library.bind(functions.set_ordering, "curandSetGeneratorOrdering");
  library.bind(functions.set_dimensions, "curandSetQuasiRandomGeneratorDimensions");
  return functions;
}

std::unique_ptr<Calls> curand_calls(const Curand& functions) { return std::make_unique<CurandCalls>(functions); }

}  // namespace larder::library

namespace larder::curand {

namespace {

template <class Value>
void refuse(bool refused, const std::optional<Value>& value, int type, const char* what) {
  if (!refused || !value) return;
  throw InvalidArgument("curand: a generator of type " + std::to_string(type) + " takes no " + what + ", but " +
                        std::to_string(*value) + " was given");
}

}  // namespace

HandleCache& handles() {
  return library::process_handles<HandleFactory>([] { return library::curand_calls(library::load_curand()); });
}

Lease<HandleFactory> generator(int type, gpu::Stream stream, const Start& start) {
  HandleCache& cache = handles();
  return generator_from(cache, library::key_of_current_context(gpu::cuda(), type), stream, start);
}

Lease<HandleFactory> generator_from(HandleCache& cache, const library::HandleKey& key, gpu::Stream stream,
                                    const Start& start) {
  const int type = key.sort();
  refuse(library::is_quasi(type), start.seed, type, "seed");
  refuse(!library::is_quasi(type), start.dimensions, type, "dimensions");
  refuse(!library::takes_offset(type), start.offset, type, "offset");
  Lease<HandleFactory> lease = cache.acquire(key, stream);
  const auto& calls = static_cast<const library::CurandCalls&>(cache.factory().calls());
  try {
    const gpu::CurrentContext inside = cache.factory().enter(key);
    curandGenerator_st* const generator = *lease;
    const auto started = calls.start(generator, type, start);
    if (started.result != 0) {
      throw Error(std::string("curand: setting the ") + started.what + " failed: " + calls.name_of(started.result) +
                  " (" + std::to_string(started.result) + ")");
    }
  } catch (...) {
    lease.discard();
    throw;
  }
  return lease;
}

}  // namespace larder::curand
