# SPDX-License-Identifier: MIT
# Debian's SOCI 4.0.3 ships neither a CMake configuration nor a .pc file. Gives SOCI::sqlite3.
find_path(SOCI_INCLUDE_DIR soci/soci.h)
find_library(SOCI_CORE_LIBRARY soci_core)
find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3)
find_package(SQLite3 QUIET)
include(FindPackageHandleStandardArgs)
include(AttuneImport)
find_package_handle_standard_args(SOCI REQUIRED_VARS SOCI_INCLUDE_DIR SOCI_CORE_LIBRARY SOCI_SQLITE3_LIBRARY SQLite3_FOUND)
if(SOCI_FOUND)
  attune_import(SOCI::sqlite3 "${SOCI_INCLUDE_DIR};${SOCI_INCLUDE_DIR}/soci" ${SOCI_SQLITE3_LIBRARY} ${SOCI_CORE_LIBRARY} SQLite::SQLite3 ${CMAKE_DL_LIBS})
endif()
