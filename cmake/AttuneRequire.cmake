# SPDX-License-Identifier: MIT
# Libraries without which nothing is built. All that are missing are named at once, with Debian's package.
set(ATTUNE_MISSING "")

# attune_require(Package debian-package): find_package, later refused by attune_refuse_missing().
macro(attune_require package debian)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND ATTUNE_MISSING "${package} (Debian: ${debian})")
  endif()
endmacro()

# attune_require_module(prefix module debian-package): the same by pkg-config, as PkgConfig::prefix.
macro(attune_require_module prefix module debian)
  if(PkgConfig_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    list(APPEND ATTUNE_MISSING "${module} (Debian: ${debian})")
  endif()
endmacro()

function(attune_refuse_missing)
  if(ATTUNE_MISSING)
    list(JOIN ATTUNE_MISSING ", " missing)
    message(FATAL_ERROR "These libraries were not found: ${missing}. tools/setup installs them on Debian, and lists them elsewhere; then configure again.")
  endif()
endfunction()
