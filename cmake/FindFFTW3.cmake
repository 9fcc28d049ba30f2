# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# FFTW 3 in single, double and extended precision, each with its threads library, as FFTW3::fftw3.
include(FindPackageHandleStandardArgs)

find_path(FFTW3_INCLUDE_DIR fftw3.h)
set(needed FFTW3_INCLUDE_DIR)
set(libraries "")
foreach(name IN ITEMS fftw3_threads fftw3f_threads fftw3l_threads fftw3 fftw3f fftw3l)
  find_library(FFTW3_${name}_LIBRARY ${name})
  list(APPEND needed FFTW3_${name}_LIBRARY)
  list(APPEND libraries ${FFTW3_${name}_LIBRARY})
endforeach()
find_package_handle_standard_args(FFTW3 REQUIRED_VARS ${needed})
mark_as_advanced(${needed})

if(FFTW3_FOUND AND NOT TARGET FFTW3::fftw3)
  find_package(Threads REQUIRED)
  add_library(FFTW3::fftw3 INTERFACE IMPORTED GLOBAL)
  set_target_properties(FFTW3::fftw3 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${FFTW3_INCLUDE_DIR}
                                                INTERFACE_LINK_LIBRARIES "${libraries};Threads::Threads")
endif()
