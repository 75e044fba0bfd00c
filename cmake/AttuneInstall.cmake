# SPDX-License-Identifier: MIT
# Places of the installed files. The library and the program find tables and modules relative to their own files
# (src/base/locations.cpp), so the tree can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS attune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS attune_shared EXPORT attuneTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attune/configs FILES_MATCHING PATTERN "*.csv")
install(DIRECTORY include/attune DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
get_property(modules GLOBAL PROPERTY ATTUNE_MODULES)
foreach(module ${modules})
  # A library that tools/setup unpacked stays where it is; CMake leaves folders below the source tree out of its rpath.
  string(REPLACE attune_solver_ "" name ${module})
  if(IS_DIRECTORY ${ATTUNE_VENDOR_FOLDER}/${name}/lib)
    set_property(TARGET ${module} APPEND PROPERTY INSTALL_RPATH ${ATTUNE_VENDOR_FOLDER}/${name}/lib)
  endif()
endforeach()
if(modules)
  install(TARGETS ${modules} attune_allocator LIBRARY DESTINATION lib/attune/modules)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/attune)
include(AttuneStandardLibrary)
attune_standard_library(ATTUNE_STANDARD_LIBRARY)
install(EXPORT attuneTargets NAMESPACE attune:: DESTINATION ${package})
configure_package_config_file(cmake/attuneConfig.cmake.in ${CMAKE_BINARY_DIR}/attuneConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/attuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/attuneConfig.cmake ${CMAKE_BINARY_DIR}/attuneConfigVersion.cmake
              cmake/AttuneStandardLibrary.cmake DESTINATION ${package})

file(RELATIVE_PATH ATTUNE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/attune.pc.in ${CMAKE_BINARY_DIR}/attune.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/attune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(cmake/AttunePrebuild.cmake.in ${CMAKE_BINARY_DIR}/AttunePrebuild.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/AttunePrebuild.cmake)
