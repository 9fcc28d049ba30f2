# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(GoogleTest)

# larder_test(<name> SOURCES <file>... [LIBRARIES <target>...]): a GoogleTest executable whose tests ctest runs one by one.
function(larder_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${test_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE larder::larder larder_warnings GTest::gmock GTest::gtest_main ${test_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
