# SPDX-License-Identifier: MIT
# libxsmm, which Debian ships as archives only. Gives Libxsmm::noblas: it has no BLAS, so only the kernels it
# generates may be called; its routines that fall back to a BLAS would print an error and compute nothing.
find_path(Libxsmm_INCLUDE_DIR libxsmm.h)
find_library(Libxsmm_LIBRARY NAMES libxsmm.a xsmm)
find_library(Libxsmm_NOBLAS_LIBRARY NAMES libxsmmnoblas.a xsmmnoblas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libxsmm REQUIRED_VARS Libxsmm_LIBRARY Libxsmm_NOBLAS_LIBRARY Libxsmm_INCLUDE_DIR)
if(Libxsmm_FOUND AND NOT TARGET Libxsmm::noblas)
  add_library(Libxsmm::noblas INTERFACE IMPORTED)
  target_include_directories(Libxsmm::noblas SYSTEM INTERFACE ${Libxsmm_INCLUDE_DIR})
  target_link_libraries(Libxsmm::noblas INTERFACE ${Libxsmm_LIBRARY} ${Libxsmm_NOBLAS_LIBRARY} rt m ${CMAKE_DL_LIBS})
endif()
