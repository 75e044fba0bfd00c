# SPDX-License-Identifier: MIT
# oneDNN 2.x. Debian's own dnnl-config.cmake asks for OpenCL headers, which a CPU build does not use.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
# On a system that has only version 3 this finds nothing; FindOneDNN3 finds that version.
if(EXISTS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h")
  file(STRINGS "${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" major REGEX "define DNNL_VERSION_MAJOR +2$")
  if(NOT major)
    unset(OneDNN_LIBRARY CACHE)
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR)
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl INTERFACE IMPORTED)
  target_include_directories(OneDNN::dnnl SYSTEM INTERFACE ${OneDNN_INCLUDE_DIR})
  target_link_libraries(OneDNN::dnnl INTERFACE ${OneDNN_LIBRARY})
endif()
