# Compiles every *.json of a folder into `target`, so that the tool is one file. `HEADER` is
# the header that declares `FUNCTION` in `NAMESPACE`, which returns name and text of each file.
function(breakeven_bundle_json target)
  cmake_parse_arguments(BUNDLE "" "FOLDER;HEADER;NAMESPACE;FUNCTION" "" ${ARGN})
  file(GLOB documents CONFIGURE_DEPENDS "${BUNDLE_FOLDER}/*.json")
  set(rows "")
  foreach(document IN LISTS documents)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${document}")
    get_filename_component(stem "${document}" NAME)
    string(REGEX REPLACE "\\.json$" "" stem "${stem}")
    file(READ "${document}" text)
    string(APPEND rows "      {\"${stem}\", R\"json(${text})json\"},\n")
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${BUNDLE_FUNCTION}.cpp")
  file(GENERATE OUTPUT "${output}" CONTENT
"#include \"${BUNDLE_HEADER}\"

namespace ${BUNDLE_NAMESPACE} {

const std::vector<std::pair<std::string_view, std::string_view>>& ${BUNDLE_FUNCTION}() {
  static const std::vector<std::pair<std::string_view, std::string_view>> table = {
${rows}  };
  return table;
}

} // namespace ${BUNDLE_NAMESPACE}
")
  target_sources(${target} PRIVATE "${output}")
endfunction()

# The same for any text files, named in FILES by path; their names keep the extension. Texts may
# hold anything but `)text"`, generator expressions included.
function(breakeven_bundle_texts target)
  cmake_parse_arguments(BUNDLE "" "HEADER;NAMESPACE;FUNCTION" "FILES" ${ARGN})
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${BUNDLE_FUNCTION}.cpp")
  set(rows "")
  foreach(path IN LISTS BUNDLE_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    get_filename_component(name "${path}" NAME)
    file(READ "${path}" text)
    string(APPEND rows "      {\"${name}\", R\"text(${text})text\"},\n")
  endforeach()
  set(source
"#include \"${BUNDLE_HEADER}\"

namespace ${BUNDLE_NAMESPACE} {

const std::vector<std::pair<std::string_view, std::string_view>>& ${BUNDLE_FUNCTION}() {
  static const std::vector<std::pair<std::string_view, std::string_view>> table = {
${rows}  };
  return table;
}

} // namespace ${BUNDLE_NAMESPACE}
")
  set(before "")
  if(EXISTS "${output}")
    file(READ "${output}" before)
  endif()
  if(NOT before STREQUAL source)
    file(WRITE "${output}" "${source}")
  endif()
  target_sources(${target} PRIVATE "${output}")
endfunction()
