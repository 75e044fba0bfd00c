# SPDX-License-Identifier: MIT
# attune_add_solver(NAME foo [MODULE] ID foo.gemm TITLE "…" [NEEDS "Package YIELDS Target" …] [NEEDS_FILE "lib YIELDS VAR"]
#                   [USES device/foo] [ENV "VAR=value@v4" …] [HINT "tools/setup --with-foo"]
#                   SOURCES foo_solver.cpp … [TESTS foo_solver_test.cpp])
#
# Makes the option ATTUNE_SOLVER_FOO=AUTO|ON|OFF: AUTO skips the solver with a printed reason when something it needs is
# missing, ON fails. MODULE: built as modules/attune_solver_foo.so, which alone links the vendor library, and opened by
# src/solver/module_loader, at start by the program, when a shape needs it by libattune; without MODULE the solver is
# linked in. ENV: variables the library reads when it is loaded, with the x86-64 level from which a value holds; the
# first that fits is taken. HINT: how to get what is missing.
#
# USES names the plug-ins (device/foo, solvers/foo) whose headers the solver includes; tools/check_layers reads it.
#
# A module exports `attune_register(Registry&)` and `attune_solver_interface()` (solver/module.h); a linked-in solver
# defines `void register_foo_solver(Registry&)` in namespace attune. Nothing else to edit.

# Where tools/setup --with-… unpacks optional libraries; the Find modules look there first, each in its own sub-folder.
set(ATTUNE_VENDOR "$ENV{ATTUNE_VENDOR}" CACHE PATH "Folder of optional libraries (default: build/vendor)")
if(ATTUNE_VENDOR)
  get_filename_component(ATTUNE_VENDOR_FOLDER "${ATTUNE_VENDOR}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
else()
  set(ATTUNE_VENDOR_FOLDER ${CMAKE_SOURCE_DIR}/build/vendor)
endif()

# A solver that is not built is said so here and in skipped_tests.txt, a line "test: reason" for tools/check_headers.
file(WRITE ${CMAKE_BINARY_DIR}/skipped_tests.txt "")
macro(attune_skip_solver reason)
  message(STATUS "Solver ${ARG_NAME}: ${reason}")
  foreach(test ${ARG_TESTS})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${test})
    file(APPEND ${CMAKE_BINARY_DIR}/skipped_tests.txt "${path}: ${reason}\n")
  endforeach()
endmacro()

function(attune_add_solver)
  cmake_parse_arguments(ARG "MODULE" "NAME;ID;TITLE;HINT" "NEEDS;ENV;SOURCES;TESTS;LINK;USES" ${ARGN})
  string(TOUPPER ${ARG_NAME} upper)
  set(ATTUNE_SOLVER_${upper} AUTO CACHE STRING "Solver ${ARG_NAME}: AUTO, ON or OFF")
  set_property(CACHE ATTUNE_SOLVER_${upper} PROPERTY STRINGS AUTO ON OFF)
  set(wanted ${ATTUNE_SOLVER_${upper}})
  if(wanted STREQUAL OFF)
    attune_skip_solver("off")
    return()
  endif()
  set(links ${ARG_LINK})
  set(hint "")
  if(ARG_HINT)
    set(hint " (${ARG_HINT})")
  endif()
  foreach(need ${ARG_NEEDS})
    string(REGEX MATCH "^([^ ]+) YIELDS ([^ ]+)$" ok "${need}")
    set(package ${CMAKE_MATCH_1})
    set(target ${CMAKE_MATCH_2})
    find_package(${package} QUIET)
    if(NOT TARGET ${target})
      if(wanted STREQUAL ON)
        message(FATAL_ERROR "Solver ${ARG_NAME} is ON but ${package} was not found${hint}")
      endif()
      attune_skip_solver("skipped, ${package} was not found${hint}")
      return()
    endif()
    list(APPEND links ${target})
  endforeach()
  if(ARG_MODULE)
    add_library(attune_solver_${ARG_NAME} MODULE ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/src/solver/module/no_destructors.cpp)
    set_target_properties(attune_solver_${ARG_NAME} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules INSTALL_RPATH_USE_LINK_PATH ON)
    target_link_libraries(attune_solver_${ARG_NAME} PRIVATE attune_solver ${links})
    # The interface checks that everything a module calls is there, and hides all but its two entry points.
    target_link_options(attune_solver_${ARG_NAME} PRIVATE -Wl,--exclude-libs,ALL)
    string(REPLACE ";" "\", \"" variables "${ARG_ENV}")
    if(variables)
      set(variables "\"${variables}\"")
    endif()
    set_property(GLOBAL APPEND_STRING PROPERTY ATTUNE_MODULE_SPECS "      {\"${ARG_NAME}\", \"${ARG_ID}\", \"${ARG_TITLE}\", {${variables}}},\n")
    set_property(GLOBAL APPEND PROPERTY ATTUNE_MODULES attune_solver_${ARG_NAME})
  else()
    add_library(attune_solver_${ARG_NAME} STATIC ${ARG_SOURCES})
    target_link_libraries(attune_solver_${ARG_NAME} PRIVATE attune_solver ${links})
    set_property(GLOBAL APPEND_STRING PROPERTY ATTUNE_LINKED_DECLARATIONS "void register_${ARG_NAME}_solver(Registry& registry);\n")
    set_property(GLOBAL APPEND_STRING PROPERTY ATTUNE_LINKED_CALLS "  register_${ARG_NAME}_solver(registry);\n")
    set_property(GLOBAL APPEND PROPERTY ATTUNE_LINKED_SOLVERS attune_solver_${ARG_NAME})
  endif()
  message(STATUS "Solver ${ARG_NAME}: on")
  if(ARG_TESTS)
    list(TRANSFORM ARG_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    attune_row_tests(5 "${ARG_TESTS}" attune_solvers attune_search attune_compile)
  endif()
endfunction()

# Called once after all solvers: the library attune_solvers holds the generated list and links the linked-in ones.
function(attune_finish_solvers)
  get_property(specs GLOBAL PROPERTY ATTUNE_MODULE_SPECS)
  get_property(declarations GLOBAL PROPERTY ATTUNE_LINKED_DECLARATIONS)
  get_property(calls GLOBAL PROPERTY ATTUNE_LINKED_CALLS)
  get_property(linked GLOBAL PROPERTY ATTUNE_LINKED_SOLVERS)
  get_property(modules GLOBAL PROPERTY ATTUNE_MODULES)
  configure_file(${CMAKE_SOURCE_DIR}/src/solvers/solver_list.cpp.in ${CMAKE_BINARY_DIR}/solver_list.cpp @ONLY)
  add_library(attune_solvers STATIC ${CMAKE_BINARY_DIR}/solver_list.cpp)
  target_link_libraries(attune_solvers PUBLIC attune_solver PRIVATE ${linked})
  if(modules)
    add_dependencies(attune_solvers ${modules})
  endif()
endfunction()
