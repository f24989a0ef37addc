# SPDX-License-Identifier: Apache-2.0
# Installs libraries with their headers, the programs, and configs/ as share/weft.

if(NOT WEFT_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

get_property(weft_libraries GLOBAL PROPERTY WEFT_LIBRARIES)
get_property(weft_programs GLOBAL PROPERTY WEFT_PROGRAMS)
set(weft_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")

if(weft_libraries)
  install(
    TARGETS ${weft_libraries}
    EXPORT weftTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    OBJECTS DESTINATION "${CMAKE_INSTALL_LIBDIR}/weft"
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/weft")
  install(
    EXPORT weftTargets
    NAMESPACE weft::
    DESTINATION "${weft_package_dir}")
endif()
if(weft_programs)
  install(TARGETS ${weft_programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(kind IN ITEMS imports machines models profiles scenarios suites)
  if(EXISTS "${PROJECT_SOURCE_DIR}/configs/${kind}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/${kind}"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/weft")
  endif()
endforeach()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/weftConfig.cmake.in" "${PROJECT_BINARY_DIR}/weftConfig.cmake"
  INSTALL_DESTINATION "${weft_package_dir}"
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake"
        DESTINATION "${weft_package_dir}")
