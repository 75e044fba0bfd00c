# SPDX-License-Identifier: MIT
# Compiler flags for every target: warnings, sanitizers, ccache.

find_program(ATTUNE_CCACHE ccache)
if(ATTUNE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${ATTUNE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTUNE_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Wno-psabi -Wno-restrict)
# Warnings as errors are for CI and developers: a newer compiler must not stop a user's build.
if(ATTUNE_WERROR)
  add_compile_options(-Werror)
endif()
if(ATTUNE_SANITIZE)
  add_compile_options(-fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1)
  add_link_options(-fsanitize=${ATTUNE_SANITIZE})
  add_compile_definitions(ATTUNE_SANITIZED=1)
endif()
if(ATTUNE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(ATTUNE_SANITIZED=1)
endif()
if(ATTUNE_TIDY)
  find_program(ATTUNE_CLANG_TIDY NAMES clang-tidy-19 clang-tidy-16 clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${ATTUNE_CLANG_TIDY} --quiet)
endif()
