# SPDX-License-Identifier: BSD-2-Clause
# The live page of `olaf serve`: uPlot from npm, and what is here, in one HTML file inside the
# command. -DOLAF_PAGE=OFF builds without it and without npm; `olaf serve` then says so.
option(OLAF_PAGE "Build the live page of olaf serve; needs npm and its registry" ON)

set(page_source ${CMAKE_CURRENT_SOURCE_DIR}/observe/page)
set(page_build ${CMAKE_CURRENT_BINARY_DIR}/page)
set(page_code ${page_build}/page.cpp)
set(page_files index.html looks.css style.css numbers.js jobs.js page.js)

if(OLAF_PAGE)
  find_program(OLAF_NPM npm)
  if(NOT OLAF_NPM)
    message(FATAL_ERROR "no npm, which fetches the charts of the live page: install nodejs and npm "
                        "(scripts/install-packages page), or build without it: -DOLAF_PAGE=OFF")
  endif()
  set(page_packages package.json package-lock.json .npmrc)
  list(TRANSFORM page_packages PREPEND ${page_source}/ OUTPUT_VARIABLE page_packages_source)
  add_custom_command(
    OUTPUT ${page_build}/npm.stamp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${page_build}
    COMMAND ${CMAKE_COMMAND} -E copy ${page_packages_source} ${page_build}
    COMMAND ${OLAF_NPM} ci --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${page_build}/npm.stamp
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/page
    DEPENDS ${page_packages_source}
    COMMENT "Fetching the charts of the live page"
    VERBATIM)
  file(MAKE_DIRECTORY ${page_build})
  set(page_depends ${page_build}/npm.stamp)
endif()

list(TRANSFORM page_files PREPEND ${page_source}/)
add_custom_command(
  OUTPUT ${page_code}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${page_source} -DPACKAGES=${page_build}/node_modules
          -DWITH_PAGE=${OLAF_PAGE} -DOUTPUT=${page_code} -P ${page_source}/bundle.cmake
  DEPENDS ${page_source}/bundle.cmake ${page_files} ${page_depends}
  COMMENT "Bundling the live page"
  VERBATIM)
target_sources(olaf_observe PRIVATE ${page_code})
target_include_directories(olaf_observe PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/observe)
