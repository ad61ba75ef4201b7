# The web UI: static files in <build>/ui, where the server finds them. Sanitized builds have none: they are for tests of
# C++, and the tests of the UI run in the release build.
find_program(TRAINYARD_NODE node)
find_program(TRAINYARD_NPM npm)
add_custom_target(trainyard-ui ALL)
if(TRAINYARD_SANITIZE)
  return()
endif()
if(NOT TRAINYARD_NODE OR NOT TRAINYARD_NPM)
  message(WARNING "No web UI: it is built with Node.js and npm (examples/install-packages)")
  return()
endif()

file(GLOB_RECURSE ui_sources CONFIGURE_DEPENDS ui/src/*.ts ui/src/*.tsx ui/src/*.css ui/public/*)
list(FILTER ui_sources EXCLUDE REGEX "/generated/")
file(GLOB ui_templates CONFIGURE_DEPENDS examples/*.json examples/*/job.json)
add_custom_command(
  OUTPUT ${CMAKE_BINARY_DIR}/ui/index.html
  COMMAND ${CMAKE_SOURCE_DIR}/ui/build ${CMAKE_BINARY_DIR}/ui
  DEPENDS ${ui_sources} ${ui_templates} ${CMAKE_SOURCE_DIR}/schemas/http/openapi.json
          ui/build ui/index.html ui/package.json ui/package-lock.json ui/tsconfig.json ui/vite.config.ts
  COMMENT "Building the web UI" VERBATIM)
add_custom_target(trainyard-ui-files DEPENDS ${CMAKE_BINARY_DIR}/ui/index.html)
add_dependencies(trainyard-ui trainyard-ui-files)
