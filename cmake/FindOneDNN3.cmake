# SPDX-License-Identifier: MIT
# oneDNN 3.x beside the system's version, over the same libgomp. Gives OneDNN3::dnnl. Looked for in ATTUNE_VENDOR/onednn3
# (tools/setup --with-onednn3) and in $DNNLROOT; found only if the headers are of a version 3. The system's own version
# is OneDNN.
set(roots ${ATTUNE_VENDOR_FOLDER}/onednn3 $ENV{DNNLROOT})
find_path(OneDNN3_INCLUDE_DIR oneapi/dnnl/dnnl.hpp PATHS ${roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(OneDNN3_LIBRARY NAMES libdnnl.so.3 PATHS ${roots} PATH_SUFFIXES lib NO_DEFAULT_PATH)
set(OneDNN3_VERSION "")
if(OneDNN3_INCLUDE_DIR)
  file(STRINGS ${OneDNN3_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h numbers REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" numbers "${numbers}")
  string(REPLACE ";" "." OneDNN3_VERSION "${numbers}")
endif()
set(OneDNN3_IS_VERSION_3 OFF)
if(OneDNN3_VERSION MATCHES "^3\\.")
  set(OneDNN3_IS_VERSION_3 ON)
else()
  # The next configuration must not keep the headers of version 2.
  unset(OneDNN3_INCLUDE_DIR CACHE)
endif()
include(FindPackageHandleStandardArgs)
include(AttuneImport)
find_package_handle_standard_args(OneDNN3 REQUIRED_VARS OneDNN3_LIBRARY OneDNN3_INCLUDE_DIR OneDNN3_IS_VERSION_3 VERSION_VAR OneDNN3_VERSION)
if(OneDNN3_FOUND)
  attune_import(OneDNN3::dnnl "${OneDNN3_INCLUDE_DIR}" ${OneDNN3_LIBRARY})
endif()
