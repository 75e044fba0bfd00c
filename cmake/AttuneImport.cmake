# SPDX-License-Identifier: MIT
# attune_import(TARGET INCLUDE_FOLDERS library …): what a Find module has found, as a target.
function(attune_import target include_folders)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} SYSTEM INTERFACE ${include_folders})
    target_link_libraries(${target} INTERFACE ${ARGN})
  endif()
endfunction()

# attune_find_and_import(Package TARGET): for Find modules of one header and one library, whose places are in
# <Package>_INCLUDE_DIR and <Package>_LIBRARY. A macro, because <Package>_FOUND is the module's.
macro(attune_find_and_import package target)
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(${package} REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR)
  if(${package}_FOUND)
    attune_import(${target} "${${package}_INCLUDE_DIR}" ${${package}_LIBRARY})
  endif()
endmacro()
