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
