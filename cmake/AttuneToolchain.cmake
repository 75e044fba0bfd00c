# SPDX-License-Identifier: MIT
# Compiler flags for every target: warnings, sanitizers, ccache.

find_program(ATTUNE_CCACHE ccache)
if(ATTUNE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${ATTUNE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTUNE_CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>" -Wno-missing-field-initializers -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")  # Types of a source that is included are not those of a header.
  endif()
else()
  add_compile_options(-Wno-unknown-attributes -Wno-deprecated-declarations)  # optimize("O3"); libstdc++ on itself
endif()
# For CI alone (.ci/run): a newer compiler's warning must not stop anybody else's build.
if(ATTUNE_WERROR)
  add_compile_options(-Werror)
endif()
if(ATTUNE_SANITIZE)
  add_compile_options(-fsanitize=${ATTUNE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1)
  add_link_options(-fsanitize=${ATTUNE_SANITIZE})
  add_compile_definitions(ATTUNE_SANITIZED=1)
  # GCC's flow warnings are wrong for instrumented code; they are errors in the release build.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized)
  # TSan does not model fences; ours are between processes (worker/announcement), which it does not see anyway.
  if(ATTUNE_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(ATTUNE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined -fno-sanitize=vptr)
  add_compile_definitions(ATTUNE_SANITIZED=1)
endif()
if(ATTUNE_TIDY)
  find_program(ATTUNE_CLANG_TIDY NAMES clang-tidy-19 clang-tidy-16 clang-tidy REQUIRED)
  # Clang alone checks the statements of base/mutex.h.
  set(CMAKE_CXX_CLANG_TIDY ${ATTUNE_CLANG_TIDY} --quiet --extra-arg=-Wthread-safety)
endif()
