# SPDX-License-Identifier: BSD-2-Clause
# Manual pages and completions, generated from the definitions of the command line.
add_library(olaf_description STATIC
  describe/bash.cpp
  describe/counters.cpp
  describe/description.cpp
  describe/man.cpp
  describe/zsh.cpp)
target_link_libraries(olaf_description PUBLIC olaf_cli PRIVATE olaf_options olaf_quiet_strings nlohmann_json::nlohmann_json)
target_compile_options(olaf_description PRIVATE ${OLAF_BUILDS_QUICKLY})
add_executable(olaf_describe describe/main.cpp)
target_compile_definitions(olaf_describe PRIVATE OLAF_PROJECT_VERSION="${PROJECT_VERSION}")
target_link_libraries(olaf_describe PRIVATE olaf_description olaf_options ${OLAF_LIBFMT})

set(OLAF_DESCRIBED ${CMAKE_CURRENT_BINARY_DIR}/described CACHE INTERNAL "what olaf_describe wrote")
file(MAKE_DIRECTORY ${OLAF_DESCRIBED})
add_custom_command(
  OUTPUT ${OLAF_DESCRIBED}/olaf.8 ${OLAF_DESCRIBED}/olaf.bash ${OLAF_DESCRIBED}/_olaf
         ${OLAF_DESCRIBED}/counters.md ${OLAF_DESCRIBED}/counters.json
  COMMAND olaf_describe ${OLAF_DESCRIBED}
  DEPENDS olaf_describe
  COMMENT "Describing the command line"
  VERBATIM)
add_custom_target(olaf_described ALL
  DEPENDS ${OLAF_DESCRIBED}/olaf.8 ${OLAF_DESCRIBED}/olaf.bash ${OLAF_DESCRIBED}/_olaf)

# Two of them stand in docs as well; a test says when they must be renewed.
add_custom_target(olaf_counters_docs
  COMMAND ${CMAKE_COMMAND} -E copy ${OLAF_DESCRIBED}/counters.md ${PROJECT_SOURCE_DIR}/docs/
  COMMAND ${CMAKE_COMMAND} -E copy ${OLAF_DESCRIBED}/counters.json
          ${PROJECT_SOURCE_DIR}/docs/schema/
  DEPENDS ${OLAF_DESCRIBED}/counters.md ${OLAF_DESCRIBED}/counters.json
  COMMENT "Renewing docs/counters.md and docs/schema/counters.json"
  VERBATIM)

install(DIRECTORY ${OLAF_DESCRIBED}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT command
        FILES_MATCHING PATTERN "*.8")
install(FILES ${OLAF_DESCRIBED}/olaf.bash RENAME olaf
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT command)
install(FILES ${OLAF_DESCRIBED}/_olaf DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
        COMPONENT command)
