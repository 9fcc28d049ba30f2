# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Parts of the build that can be switched off, and the summary of which are on and why not.

set_property(GLOBAL PROPERTY LARDER_PARTS "")

# larder_part(<name> <ON|OFF> <reason>): a line of the summary.
function(larder_part name state reason)
  set_property(GLOBAL APPEND PROPERTY LARDER_PARTS "${name}|${state}|${reason}")
endfunction()

# larder_need(<result> <part> PACKAGES <cmake package>... APT <debian package>...): looks for what a part needs.
# Sets <result> to ON when all of it is there; otherwise switches the part off with a line that says what to install.
function(larder_need result part)
  cmake_parse_arguments(PARSE_ARGV 2 need "" "" "PACKAGES;APT")
  set(missing "")
  foreach(package IN LISTS need_PACKAGES)
    find_package(${package} QUIET GLOBAL)
    if(NOT ${package}_FOUND)
      list(APPEND missing ${package})
    endif()
  endforeach()
  if(missing)
    list(JOIN missing ", " missing)
    list(JOIN need_APT " " packages)
    larder_part(${part} OFF "not found: ${missing} (apt-get install ${packages})")
    set(${result} OFF PARENT_SCOPE)
  else()
    larder_part(${part} ON "")
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

function(larder_summary)
  message(STATUS "")
  message(STATUS "larder ${PROJECT_VERSION}")
  get_property(parts GLOBAL PROPERTY LARDER_PARTS)
  foreach(part IN LISTS parts)
    string(REPLACE "|" ";" fields "${part}")
    list(GET fields 0 name)
    list(GET fields 1 state)
    list(GET fields 2 reason)
    string(LENGTH "${name}" length)
    math(EXPR pad "12 - ${length}")
    string(REPEAT " " ${pad} spaces)
    message(STATUS "  ${name}${spaces}${state}  ${reason}")
  endforeach()
  message(STATUS "")
endfunction()
