# Install, find_package(breakeven) and the .deb.
include(CMakePackageConfigHelpers)

# What a consumer of the library needs is the component "library":
#   cmake --install build/release --component library --prefix DIR
# An export set per target, so that a consumer without nlohmann/json still gets breakeven::admission.
set(breakeven_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/breakeven")
foreach(part admission policy c)
  if(TARGET breakeven_${part})
    install(TARGETS breakeven_${part} EXPORT breakeven_${part}_targets
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
    install(EXPORT breakeven_${part}_targets NAMESPACE breakeven:: FILE breakeven-${part}.cmake
      DESTINATION ${breakeven_cmake_dir} COMPONENT library)
  endif()
endforeach()
if(TARGET breakeven_c)
  configure_file("${PROJECT_SOURCE_DIR}/src/capi/breakeven.pc.in"
    "${PROJECT_BINARY_DIR}/breakeven.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/breakeven.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library)
install(FILES "${PROJECT_SOURCE_DIR}/src/profile/breakeven.schema.json"
  DESTINATION ${CMAKE_INSTALL_DATADIR}/breakeven)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" DESTINATION ${CMAKE_INSTALL_DATADIR}/breakeven)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/breakeven-config.cmake.in"
  "${PROJECT_BINARY_DIR}/breakeven-config.cmake"
  INSTALL_DESTINATION ${breakeven_cmake_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/breakeven-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/breakeven-config.cmake"
  "${PROJECT_BINARY_DIR}/breakeven-config-version.cmake"
  DESTINATION ${breakeven_cmake_dir} COMPONENT library)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "breakeven maintainers <maintainers@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
