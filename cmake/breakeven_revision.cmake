# The git revision that break-even files record; "unknown" outside a checkout.
set(BREAKEVEN_REVISION "unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE revision
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(revision)
    set(BREAKEVEN_REVISION "${revision}")
  endif()
endif()
