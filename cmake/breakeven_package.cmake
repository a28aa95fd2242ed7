# Install, find_package(breakeven) and the .deb.
include(CMakePackageConfigHelpers)

# Two export sets, so that a consumer without nlohmann/json still gets breakeven::admission.
install(TARGETS breakeven_admission EXPORT breakeven_admission_targets)
install(EXPORT breakeven_admission_targets NAMESPACE breakeven:: FILE breakeven-admission.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/breakeven)
if(TARGET breakeven_policy)
  install(TARGETS breakeven_policy EXPORT breakeven_policy_targets)
  install(EXPORT breakeven_policy_targets NAMESPACE breakeven:: FILE breakeven-policy.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/breakeven)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models" DESTINATION ${CMAKE_INSTALL_DATADIR}/breakeven)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/breakeven-config.cmake.in"
  "${PROJECT_BINARY_DIR}/breakeven-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/breakeven)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/breakeven-config-version.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/breakeven-config.cmake"
  "${PROJECT_BINARY_DIR}/breakeven-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/breakeven)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "breakeven maintainers <maintainers@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
