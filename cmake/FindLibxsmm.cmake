# SPDX-License-Identifier: MIT
# libxsmm, which Debian ships as archives only. Gives Libxsmm::noblas: it has no BLAS, so only the kernels it
# generates may be called; its routines that fall back to a BLAS would print an error and compute nothing.
find_path(Libxsmm_INCLUDE_DIR libxsmm.h)
find_library(Libxsmm_LIBRARY NAMES libxsmm.a xsmm)
find_library(Libxsmm_NOBLAS_LIBRARY NAMES libxsmmnoblas.a xsmmnoblas)
include(FindPackageHandleStandardArgs)
include(AttuneImport)
find_package_handle_standard_args(Libxsmm REQUIRED_VARS Libxsmm_LIBRARY Libxsmm_NOBLAS_LIBRARY Libxsmm_INCLUDE_DIR)
if(Libxsmm_FOUND)
  attune_import(Libxsmm::noblas "${Libxsmm_INCLUDE_DIR}" ${Libxsmm_LIBRARY} ${Libxsmm_NOBLAS_LIBRARY} rt m ${CMAKE_DL_LIBS})
endif()
