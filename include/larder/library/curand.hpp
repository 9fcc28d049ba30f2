// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuRAND generators: state, not tools. Each lease starts where its seed and offset say, whoever had the generator before.
//
//   auto generator = larder::curand::generator(CURAND_RNG_PSEUDO_PHILOX4_32_10, stream, {.seed = 42});
//   curandGenerateUniform(*generator, numbers, count);
#pragma once

#include <cstdint>
#include <optional>

#include <larder/gpu/stream.hpp>
#include <larder/library/device_handle.hpp>

struct curandGenerator_st;  // as in the vendor's header, where curandGenerator_t is a pointer to it

namespace larder::curand {

using HandleFactory = library::DeviceHandleFactory<curandGenerator_st*>;
using HandleCache = larder::HandleCache<HandleFactory>;

/// Where a generator's sequence starts, and how it is laid out. Quasirandom generators take no seed, pseudorandom ones no
/// dimensions, MTGP32 and MT19937 no offset (cuRAND's rules): what is set for them is refused.
struct Start {
  std::optional<std::uint64_t> seed = std::nullopt;    ///< default 0, for pseudorandom generators
  std::optional<std::uint64_t> offset = std::nullopt;  ///< default 0: the beginning
  std::optional<int> ordering = std::nullopt;          ///< curandOrdering_t; default as of a new generator
  std::optional<unsigned> dimensions = std::nullopt;   ///< default 1
};

/// The generators of this process; made by the first call, never destroyed. Leases from here are as new; generator() also
/// starts them elsewhere.
/// @throws BackendUnavailable when the CUDA driver or cuRAND is missing (LARDER_CURAND_LIBRARY names another file)
[[nodiscard]] HandleCache& handles();

/// A generator of that type (curandRngType_t) in the current context, on that stream, started as said.
///
/// @throws InvalidArgument for what the type does not take; Error with cuRAND's result; as handles() and
/// HandleCache::acquire
[[nodiscard]] Lease<HandleFactory> generator(int type, gpu::Stream stream = {}, const Start& start = {});

/// The same from another cache.
[[nodiscard]] Lease<HandleFactory> generator_from(HandleCache& cache, const library::HandleKey& key, gpu::Stream stream,
                                                  const Start& start);

}  // namespace larder::curand
