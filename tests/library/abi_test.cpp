// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our declarations of the handle libraries' functions agree with the vendors' headers. All of it happens while compiling.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <gtest/gtest.h>
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define LARDER_HAVE_CUDNN_HEADER
#endif

#include <type_traits>

#include <larder/library/cublas.hpp>
#include <larder/library/cublaslt.hpp>
#include <larder/library/cudnn.hpp>
#include <larder/library/curand.hpp>
#include <larder/library/cusolver.hpp>
#include <larder/library/cusparse.hpp>

#include "gpu/same_abi.hpp"
#include "src/library/libraries.hpp"

namespace larder::library_tests {
namespace {

using gpu_tests::same_abi;

#define LARDER_SAME(OURS, THEIRS) static_assert(same_abi<decltype(library::OURS), decltype(&THEIRS)>)
LARDER_SAME(Cublas::create, cublasCreate_v2);
LARDER_SAME(Cublas::destroy, cublasDestroy_v2);
LARDER_SAME(Cublas::set_stream, cublasSetStream_v2);
LARDER_SAME(Cublas::set_pointer_mode, cublasSetPointerMode_v2);
LARDER_SAME(Cublas::set_math_mode, cublasSetMathMode);
LARDER_SAME(Cublas::set_atomics_mode, cublasSetAtomicsMode);
LARDER_SAME(Cublas::set_sm_count_target, cublasSetSmCountTarget);
LARDER_SAME(Cublas::get_status_name, cublasGetStatusName);
LARDER_SAME(CublasLt::create, cublasLtCreate);
LARDER_SAME(CublasLt::destroy, cublasLtDestroy);
LARDER_SAME(CublasLt::get_status_name, cublasLtGetStatusName);
LARDER_SAME(Cusparse::create, cusparseCreate);
LARDER_SAME(Cusparse::destroy, cusparseDestroy);
LARDER_SAME(Cusparse::set_stream, cusparseSetStream);
LARDER_SAME(Cusparse::set_pointer_mode, cusparseSetPointerMode);
LARDER_SAME(Cusparse::get_error_name, cusparseGetErrorName);
LARDER_SAME(Cusolver::create, cusolverDnCreate);
LARDER_SAME(Cusolver::destroy, cusolverDnDestroy);
LARDER_SAME(Cusolver::set_stream, cusolverDnSetStream);
LARDER_SAME(Cusolver::set_deterministic_mode, cusolverDnSetDeterministicMode);
LARDER_SAME(Curand::create, curandCreateGenerator);
LARDER_SAME(Curand::destroy, curandDestroyGenerator);
LARDER_SAME(Curand::set_stream, curandSetStream);
LARDER_SAME(Curand::set_seed, curandSetPseudoRandomGeneratorSeed);
LARDER_SAME(Curand::set_offset, curandSetGeneratorOffset);
LARDER_SAME(Curand::set_ordering, curandSetGeneratorOrdering);
LARDER_SAME(Curand::set_dimensions, curandSetQuasiRandomGeneratorDimensions);
#if CUBLAS_VERSION >= 130000
LARDER_SAME(Cusolver::set_math_mode, cusolverDnSetMathMode);
LARDER_SAME(Cusolver::set_emulation_strategy, cusolverDnSetEmulationStrategy);
// The header has an overload for another enumeration.
using SetEmulation = cublasStatus_t (*)(cublasHandle_t, cublasEmulationStrategy_t);
static_assert(same_abi<decltype(library::Cublas::set_emulation_strategy),
                       decltype(static_cast<SetEmulation>(&cublasSetEmulationStrategy))>);
static_assert(CUBLAS_EMULATION_STRATEGY_DEFAULT == 0 && CUDA_EMULATION_STRATEGY_DEFAULT == 0);
static_assert(CUSOLVER_DEFAULT_MATH == 1);
#endif
#ifdef LARDER_HAVE_CUDNN_HEADER
LARDER_SAME(Cudnn::create, cudnnCreate);
LARDER_SAME(Cudnn::destroy, cudnnDestroy);
LARDER_SAME(Cudnn::set_stream, cudnnSetStream);
LARDER_SAME(Cudnn::get_error_string, cudnnGetErrorString);
static_assert(std::is_same_v<cudnnHandle_t, decltype(cudnn::handle())>);
#if CUDNN_MAJOR >= 9
static_assert(CUDNN_STATUS_NOT_INITIALIZED == 1001 && CUDNN_STATUS_INTERNAL_ERROR == 4000 &&
              CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED == 4004);
#endif
#endif
#undef LARDER_SAME

// A program that includes the vendor's header passes our handles on as they are.
static_assert(std::is_same_v<cublasHandle_t, decltype(cublas::handle())>);
static_assert(std::is_same_v<cublasLtHandle_t, decltype(cublaslt::handle())>);
static_assert(std::is_same_v<cusparseHandle_t, decltype(cusparse::handle())>);
static_assert(std::is_same_v<cusolverDnHandle_t, decltype(cusolver::handle())>);
static_assert(std::is_convertible_v<const curand::HandleFactory::Handle&, curandGenerator_t>);

// The defaults that reset() puts back, and results that mean short memory.
static_assert(CUBLAS_POINTER_MODE_HOST == 0 && CUBLAS_DEFAULT_MATH == 0 && CUBLAS_ATOMICS_NOT_ALLOWED == 0);
static_assert(CUSPARSE_POINTER_MODE_HOST == 0 && CUSOLVER_DETERMINISTIC_RESULTS == 1);
static_assert(CUBLAS_STATUS_NOT_INITIALIZED == 1 && CUBLAS_STATUS_ALLOC_FAILED == 3 &&
              CUBLAS_STATUS_INTERNAL_ERROR == 14);
static_assert(CUSPARSE_STATUS_ALLOC_FAILED == 2 && CUSPARSE_STATUS_INSUFFICIENT_RESOURCES == 11);
static_assert(CUSOLVER_STATUS_ALLOC_FAILED == 2 && CUSOLVER_STATUS_INTERNAL_ERROR == 7);
static_assert(CURAND_STATUS_ALLOCATION_FAILED == 102 && CURAND_STATUS_INITIALIZATION_FAILED == 203);
static_assert(CURAND_RNG_PSEUDO_MTGP32 == 141 && CURAND_RNG_PSEUDO_MT19937 == 142 && CURAND_RNG_QUASI_DEFAULT == 200);
static_assert(CURAND_ORDERING_PSEUDO_DEFAULT == 101 && CURAND_ORDERING_QUASI_DEFAULT == 201);

TEST(LibraryAbiTest, OurDeclarationsAgreeWithTheVendorsHeaders) { SUCCEED() << "compared while compiling"; }

}  // namespace
}  // namespace larder::library_tests
