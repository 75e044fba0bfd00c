# SPDX-License-Identifier: MIT
# Debian's SOCI 4.0.3 ships neither a CMake configuration nor a .pc file. Gives SOCI::sqlite3.
find_path(SOCI_INCLUDE_DIR soci/soci.h)
find_library(SOCI_CORE_LIBRARY soci_core)
find_library(SOCI_SQLITE3_LIBRARY soci_sqlite3)
find_package(SQLite3 REQUIRED)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SOCI REQUIRED_VARS SOCI_INCLUDE_DIR SOCI_CORE_LIBRARY SOCI_SQLITE3_LIBRARY)
if(SOCI_FOUND AND NOT TARGET SOCI::sqlite3)
  add_library(SOCI::sqlite3 INTERFACE IMPORTED)
  target_include_directories(SOCI::sqlite3 SYSTEM INTERFACE ${SOCI_INCLUDE_DIR} ${SOCI_INCLUDE_DIR}/soci)
  target_link_libraries(SOCI::sqlite3 INTERFACE ${SOCI_SQLITE3_LIBRARY} ${SOCI_CORE_LIBRARY} SQLite::SQLite3 ${CMAKE_DL_LIBS})
endif()
