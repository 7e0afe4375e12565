# SPDX-License-Identifier: BSD-2-Clause
# What Debian's policy wants of the staged files of each package: where they lie, what is compressed,
# copyright and changelog. Run by cpack between staging and packing.
cmake_policy(VERSION 3.25)

function(compress file)
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# A module for Debian's Python lies in a folder without a version.
function(move_python tree)
  file(GLOB versioned ${tree}/usr/lib/python3.*/dist-packages)
  foreach(folder ${versioned})
    file(MAKE_DIRECTORY ${tree}/usr/lib/python3)
    file(RENAME ${folder} ${tree}/usr/lib/python3/dist-packages)
    cmake_path(GET folder PARENT_PATH emptied)
    file(REMOVE_RECURSE ${emptied})
  endforeach()
endfunction()

# Where Debian's zsh looks for what isn't local.
function(move_zsh tree)
  if(EXISTS ${tree}/usr/share/zsh/site-functions)
    file(RENAME ${tree}/usr/share/zsh/site-functions ${tree}/usr/share/zsh/vendor-completions)
  endif()
endfunction()

# Units name the command where this build would have installed it.
function(place_units tree)
  file(GLOB units ${tree}/usr/lib/systemd/system/*.service)
  foreach(unit ${units})
    file(READ ${unit} text)
    string(REPLACE ${CPACK_OLAF_SBINDIR}/ /usr/sbin/ text "${text}")
    file(WRITE ${unit} "${text}")
  endforeach()
endfunction()

function(document tree package)
  set(others "")
  if(package STREQUAL olaf OR package STREQUAL olaf-fleet)
    file(READ ${CPACK_OLAF_SOURCE}/cmake/package/copyright-of-others others)
  endif()
  set(folder ${tree}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${folder})
  configure_file(${CPACK_OLAF_SOURCE}/cmake/package/copyright.in ${folder}/copyright @ONLY)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(${CPACK_OLAF_SOURCE}/cmake/package/changelog.in ${folder}/changelog @ONLY)
  compress(${folder}/changelog)
endfunction()

file(READ ${CPACK_OLAF_SOURCE}/LICENSE license)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(tree ${CPACK_TEMPORARY_DIRECTORY}/${component})
  move_python(${tree})
  move_zsh(${tree})
  place_units(${tree})
  file(GLOB pages ${tree}/usr/share/man/man8/*.8)
  foreach(page ${pages})
    compress(${page})
  endforeach()
  document(${tree} ${package})
  # lintian is told why, where a package goes its own way.
  set(overrides ${CPACK_OLAF_SOURCE}/cmake/package/lintian/${package})
  if(EXISTS ${overrides})
    file(COPY ${overrides} DESTINATION ${tree}/usr/share/lintian/overrides)
  endif()
endforeach()
