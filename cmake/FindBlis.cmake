# SPDX-License-Identifier: MIT
# BLIS with OpenMP: its pthread build starts threads anew at every call. By full path, as for OpenBLAS.
find_path(Blis_INCLUDE_DIR blis.h PATH_SUFFIXES blis-openmp blis NO_CMAKE_SYSTEM_PATH PATHS /usr/include/x86_64-linux-gnu /usr/include /usr/local/include)
find_library(Blis_LIBRARY blis PATH_SUFFIXES blis-openmp NO_CMAKE_SYSTEM_PATH PATHS /usr/lib/x86_64-linux-gnu /usr/lib /usr/local/lib)
include(AttuneImport)
attune_find_and_import(Blis Blis::openmp)
