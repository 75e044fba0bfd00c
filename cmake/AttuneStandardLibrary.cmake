# SPDX-License-Identifier: MIT
# attune_standard_library(variable): the C++ standard library that this project's compiler uses, as one that passes C++ objects to
# libattune must know it: `libstdc++`, `libstdc++ with its old strings`, `libc++` or `another C++ library`.
include(CheckCXXSourceCompiles)

function(attune_standard_library variable)
  set(name "another C++ library")
  set(CMAKE_REQUIRED_QUIET ON)
  foreach(one IN ITEMS "libc++|defined(_LIBCPP_VERSION)" "libstdc++|defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI"
                       "libstdc++ with its old strings|defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI")
    string(REGEX MATCH "^(.*)\\|(.*)$" ignored "${one}")
    set(found ${CMAKE_MATCH_1})
    string(MD5 key "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS} ${found}")
    check_cxx_source_compiles("#include <string>\n#if !(${CMAKE_MATCH_2})\n#error\n#endif\nint main() {}" ATTUNE_HAS_${key})
    if(ATTUNE_HAS_${key})
      set(name ${found})
      break()
    endif()
  endforeach()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()
