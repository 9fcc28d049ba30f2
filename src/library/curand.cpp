// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <larder/library/curand.hpp>

#include <algorithm>
#include <iterator>
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

Curand load_curand() {
  const gpu::DynamicLibrary library("cuRAND", "LARDER_CURAND_LIBRARY", {"libcurand.so.10"});
  Curand functions{};
  library.bind(functions.create, "curandCreateGenerator");
  library.bind(functions.destroy, "curandDestroyGenerator");
  library.bind(functions.set_stream, "curandSetStream");
  library.bind(functions.set_seed, "curandSetPseudoRandomGeneratorSeed");
  library.bind(functions.set_offset, "curandSetGeneratorOffset");
  library.bind(functions.set_ordering, "curandSetGeneratorOrdering");
  return functions;
}

std::unique_ptr<Calls> curand_calls(const Curand& functions) { return std::make_unique<CurandCalls>(functions); }

}  // namespace larder::library

namespace larder::curand {

namespace {

// curandRngType_t
constexpr int mtgp32 = 141;
constexpr int mt19937 = 142;
constexpr int first_quasi = 200;
// curandOrdering_t
constexpr int pseudo_default = 101;
constexpr int quasi_default = 201;

void check(const library::CurandCalls& calls, int result, const char* what) {
  if (result == 0) return;
  throw Error(std::string("curand: setting the ") + what + " failed: " + calls.name_of(result) + " (" +
              std::to_string(result) + ")");
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
  const bool quasi = type >= first_quasi;
  const bool takes_offset = type != mtgp32 && type != mt19937;
  if (quasi && start.seed) {
    throw InvalidArgument("curand: a quasirandom generator (type " + std::to_string(type) + ") takes no seed, but " +
                          std::to_string(*start.seed) + " was given");
  }
  if (!takes_offset && start.offset) {
    throw InvalidArgument("curand: a generator of type " + std::to_string(type) + " takes no offset, but " +
                          std::to_string(*start.offset) + " was given");
  }
  Lease<HandleFactory> lease = cache.acquire(key, stream);
  const auto& calls = static_cast<const library::CurandCalls&>(cache.factory().calls());
  try {
    const gpu::CurrentContext inside = cache.factory().enter(key);
    curandGenerator_st* const generator = *lease;
    check(calls, calls.set_ordering(generator, start.ordering.value_or(quasi ? quasi_default : pseudo_default)),
          "ordering");
    if (!quasi) check(calls, calls.set_seed(generator, start.seed.value_or(0)), "seed");
    if (takes_offset) check(calls, calls.set_offset(generator, start.offset.value_or(0)), "offset");
  } catch (...) {
    lease.discard();
    throw;
  }
  return lease;
}

}  // namespace larder::curand
