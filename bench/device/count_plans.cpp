// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library for LD_PRELOAD that counts how often a program makes a cuFFT plan, whatever cache it has of its own:
// count_plans_so_far() tells.
#include <dlfcn.h>

#include <atomic>
#include <initializer_list>

namespace {

std::atomic<long> made{0};

template <class Function>
Function* next(const char* name) {
  // The program may have loaded cuFFT with local scope only, where RTLD_NEXT does not look.
  void* found = dlsym(RTLD_NEXT, name);
  for (const char* const library : {"libcufft.so.12", "libcufft.so.11"}) {
    if (found != nullptr) break;
    if (void* const loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD)) found = dlsym(loaded, name);
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

extern "C" {

long count_plans_so_far() { return made.load(); }

int cufftMakePlan1d(int plan, int n, int type, int batch, unsigned long* work_size) {
  ++made;
  static auto* const real = next<decltype(cufftMakePlan1d)>("cufftMakePlan1d");
  return real(plan, n, type, batch, work_size);
}

int cufftMakePlanMany(int plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride,
                      int odist, int type, int batch, unsigned long* work_size) {
  ++made;
  static auto* const real = next<decltype(cufftMakePlanMany)>("cufftMakePlanMany");
  return real(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, work_size);
}

int cufftXtMakePlanMany(int plan, int rank, long long* n, long long* inembed, long long istride, long long idist,
                        int input, long long* onembed, long long ostride, long long odist, int output, long long batch,
                        unsigned long* work_size, int execution) {
  ++made;
  static auto* const real = next<decltype(cufftXtMakePlanMany)>("cufftXtMakePlanMany");
  return real(plan, rank, n, inembed, istride, idist, input, onembed, ostride, odist, output, batch, work_size,
              execution);
}

}  // extern "C"
