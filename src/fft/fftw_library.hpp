// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library<Real>: FFTW's functions of one precision under one name.
#pragma once

#include <fftw3.h>

namespace larder::fft::fftw {

template <class Real>
struct Library;

#define LARDER_FFTW_LIBRARY(REAL, PREFIX)                                               \
  template <>                                                                           \
  struct Library<REAL> {                                                                \
    using Plan = PREFIX##_plan;                                                         \
    using Complex = PREFIX##_complex;                                                   \
    using Dimension = PREFIX##_iodim64;                                                 \
    static constexpr auto alignment_of = PREFIX##_alignment_of;                         \
    static constexpr auto destroy_plan = PREFIX##_destroy_plan;                         \
    static constexpr auto init_threads = PREFIX##_init_threads;                         \
    static constexpr auto make_planner_thread_safe = PREFIX##_make_planner_thread_safe; \
    static constexpr auto plan_with_nthreads = PREFIX##_plan_with_nthreads;             \
    static constexpr auto planner_nthreads = PREFIX##_planner_nthreads;                 \
    static constexpr auto set_timelimit = PREFIX##_set_timelimit;                       \
    static constexpr auto plan_c2c = PREFIX##_plan_guru64_dft;                          \
    static constexpr auto plan_r2c = PREFIX##_plan_guru64_dft_r2c;                      \
    static constexpr auto plan_c2r = PREFIX##_plan_guru64_dft_c2r;                      \
    static constexpr auto plan_r2r = PREFIX##_plan_guru64_r2r;                          \
    static constexpr auto execute_c2c = PREFIX##_execute_dft;                           \
    static constexpr auto execute_r2c = PREFIX##_execute_dft_r2c;                       \
    static constexpr auto execute_c2r = PREFIX##_execute_dft_c2r;                       \
    static constexpr auto execute_r2r = PREFIX##_execute_r2r;                           \
    static constexpr auto import_wisdom = PREFIX##_import_wisdom_from_filename;         \
    static constexpr auto export_wisdom = PREFIX##_export_wisdom_to_filename;           \
  };

LARDER_FFTW_LIBRARY(float, fftwf)
LARDER_FFTW_LIBRARY(double, fftw)
LARDER_FFTW_LIBRARY(long double, fftwl)

#undef LARDER_FFTW_LIBRARY

}  // namespace larder::fft::fftw
