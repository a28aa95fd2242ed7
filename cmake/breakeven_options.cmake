# Compiler settings for the project's own targets only; consumers of the headers get none of them.
if(BREAKEVEN_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

add_library(breakeven_options INTERFACE)
target_compile_features(breakeven_options INTERFACE cxx_std_20)
target_compile_options(breakeven_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${BREAKEVEN_WERROR}>:-Werror>)
# GCC 12 warns falsely about std::string concatenation (GCC bug 105651), and under sanitizers about
# uninitialised members inside its own library.
target_compile_options(breakeven_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
if(BREAKEVEN_SANITIZE)
  target_compile_options(breakeven_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_options(breakeven_options INTERFACE
    -fsanitize=${BREAKEVEN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(breakeven_options INTERFACE -fsanitize=${BREAKEVEN_SANITIZE})
endif()

# One static library per room of src/: every *.cpp of its folder. Rooms link the rooms they may see.
function(breakeven_add_room name)
  cmake_parse_arguments(ROOM "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  if(NOT sources) # a room of headers only
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" "")
    set(sources "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  endif()
  add_library(breakeven_${name} STATIC ${sources})
  target_include_directories(breakeven_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(breakeven_${name} PUBLIC breakeven_options ${ROOM_LINK})
endfunction()
