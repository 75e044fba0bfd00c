# SPDX-License-Identifier: MIT
# MKL as its three layers (lp64, GNU OpenMP, core), never libmkl_rt: that one makes its symbols global and then serves
# every other BLAS of the process too. Gives MKL::gnu_thread. Searched in ATTUNE_VENDOR/mkl (tools/setup --with-mkl,
# whose wheels hold no names without a version), in $MKLROOT, then in the system.
set(roots ${ATTUNE_VENDOR_FOLDER}/mkl $ENV{MKLROOT})
find_path(MKLGnuThread_INCLUDE_DIR mkl_cblas.h HINTS ${roots} PATH_SUFFIXES include mkl)
set(MKLGnuThread_LIBRARIES "")
set(variables "")
foreach(layer intel_lp64 gnu_thread core)
  find_library(MKLGnuThread_${layer}_LIBRARY NAMES libmkl_${layer}.so.3 libmkl_${layer}.so.2 mkl_${layer} HINTS ${roots} PATH_SUFFIXES lib lib/intel64)
  mark_as_advanced(MKLGnuThread_${layer}_LIBRARY)
  list(APPEND MKLGnuThread_LIBRARIES ${MKLGnuThread_${layer}_LIBRARY})
  list(APPEND variables MKLGnuThread_${layer}_LIBRARY)
endforeach()
find_package(OpenMP QUIET)
include(FindPackageHandleStandardArgs)
include(AttuneImport)
find_package_handle_standard_args(MKLGnuThread REQUIRED_VARS ${variables} MKLGnuThread_INCLUDE_DIR OpenMP_CXX_FOUND)
if(MKLGnuThread_FOUND)
  # The layers name none of the others they need, so all stay on the line, and libgomp with them.
  attune_import(MKL::gnu_thread "${MKLGnuThread_INCLUDE_DIR}" -Wl,--push-state,--no-as-needed ${MKLGnuThread_LIBRARIES} OpenMP::OpenMP_CXX -Wl,--pop-state)
endif()
