# SPDX-License-Identifier: MIT
# OpenBLAS with its own threads, by its full path: libblas.so.3 is an alternative that anybody may have switched.
find_path(OpenBLASPthread_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-pthread openblas)
find_library(OpenBLASPthread_LIBRARY openblas PATH_SUFFIXES openblas-pthread openblas)
include(AttuneImport)
attune_find_and_import(OpenBLASPthread OpenBLAS::pthread)
