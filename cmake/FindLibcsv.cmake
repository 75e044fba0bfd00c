# SPDX-License-Identifier: MIT
# libcsv 3 ships no .pc file. Gives Libcsv::Libcsv.
find_path(LIBCSV_INCLUDE_DIR csv.h)
find_library(LIBCSV_LIBRARY csv)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libcsv REQUIRED_VARS LIBCSV_INCLUDE_DIR LIBCSV_LIBRARY)
if(Libcsv_FOUND AND NOT TARGET Libcsv::Libcsv)
  add_library(Libcsv::Libcsv INTERFACE IMPORTED)
  target_include_directories(Libcsv::Libcsv SYSTEM INTERFACE ${LIBCSV_INCLUDE_DIR})
  target_link_libraries(Libcsv::Libcsv INTERFACE ${LIBCSV_LIBRARY})
endif()
