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
include(AttuneImport)
attune_find_and_import(OneDNN OneDNN::dnnl)
