# SPDX-License-Identifier: MIT
# BLIS with OpenMP: its pthread build starts threads anew at every call. By full path, as for OpenBLAS.
find_path(Blis_INCLUDE_DIR blis.h PATH_SUFFIXES blis-openmp blis NO_CMAKE_SYSTEM_PATH PATHS /usr/include/x86_64-linux-gnu /usr/include /usr/local/include)
find_library(Blis_LIBRARY blis PATH_SUFFIXES blis-openmp NO_CMAKE_SYSTEM_PATH PATHS /usr/lib/x86_64-linux-gnu /usr/lib /usr/local/lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Blis REQUIRED_VARS Blis_LIBRARY Blis_INCLUDE_DIR)
if(Blis_FOUND AND NOT TARGET Blis::openmp)
  add_library(Blis::openmp INTERFACE IMPORTED)
  target_include_directories(Blis::openmp SYSTEM INTERFACE ${Blis_INCLUDE_DIR})
  target_link_libraries(Blis::openmp INTERFACE ${Blis_LIBRARY})
endif()
