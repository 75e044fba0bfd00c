# SPDX-License-Identifier: MIT
# OpenBLAS with its own threads, by its full path: libblas.so.3 is an alternative that anybody may have switched.
find_path(OpenBLASPthread_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread openblas)
find_library(OpenBLASPthread_LIBRARY openblas PATH_SUFFIXES openblas-pthread openblas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLASPthread REQUIRED_VARS OpenBLASPthread_LIBRARY OpenBLASPthread_INCLUDE_DIR)
if(OpenBLASPthread_FOUND AND NOT TARGET OpenBLAS::pthread)
  add_library(OpenBLAS::pthread INTERFACE IMPORTED)
  target_include_directories(OpenBLAS::pthread SYSTEM INTERFACE ${OpenBLASPthread_INCLUDE_DIR})
  target_link_libraries(OpenBLAS::pthread INTERFACE ${OpenBLASPthread_LIBRARY})
endif()
