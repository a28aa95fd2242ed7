# The public library. `breakeven::admission` needs nothing but a C++17 compiler;
# `breakeven::breakeven` adds policy_file.hpp, which parses JSON with nlohmann/json.
add_library(breakeven_admission INTERFACE)
add_library(breakeven::admission ALIAS breakeven_admission)
target_include_directories(breakeven_admission INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(breakeven_admission INTERFACE cxx_std_17)
set_target_properties(breakeven_admission PROPERTIES EXPORT_NAME admission)

find_package(nlohmann_json 3.10 QUIET)
if(nlohmann_json_FOUND)
  add_library(breakeven_policy INTERFACE)
  add_library(breakeven::breakeven ALIAS breakeven_policy)
  target_link_libraries(breakeven_policy INTERFACE breakeven_admission nlohmann_json::nlohmann_json)
  set_target_properties(breakeven_policy PROPERTIES EXPORT_NAME breakeven)
endif()

# libbreakeven.so: the C interface of breakeven.h. Its soname is BREAKEVEN_ABI_VERSION of that header.
option(BREAKEVEN_SHARED "Build the shared library with the C interface" ${BREAKEVEN_TOP_LEVEL})
if(BREAKEVEN_SHARED AND TARGET breakeven_policy)
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/breakeven/breakeven.h" breakeven_abi_line
    REGEX "#define BREAKEVEN_ABI_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" BREAKEVEN_ABI_VERSION "${breakeven_abi_line}")
  add_library(breakeven_c SHARED "${PROJECT_SOURCE_DIR}/src/capi/breakeven_c.cpp")
  add_library(breakeven::c ALIAS breakeven_c)
  target_link_libraries(breakeven_c PRIVATE breakeven_options breakeven_policy)
  target_include_directories(breakeven_c PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(breakeven_c PRIVATE BREAKEVEN_VERSION="${PROJECT_VERSION}")
  target_link_options(breakeven_c PRIVATE
    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/src/capi/breakeven.map")
  set_target_properties(breakeven_c PROPERTIES
    OUTPUT_NAME breakeven EXPORT_NAME c
    VERSION "${BREAKEVEN_ABI_VERSION}.${PROJECT_VERSION}" SOVERSION "${BREAKEVEN_ABI_VERSION}"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/src/capi/breakeven.map")
endif()
