# SPDX-License-Identifier: BSD-2-Clause
# OLAF_OBJECTS: the objects of the table of programs (loader/datapath/programs.hpp), each once. Those are the
# bpf/OBJECT.bpf.c that there are.
include_guard()

set(olaf_programs ${PROJECT_SOURCE_DIR}/loader/datapath/programs.hpp)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${olaf_programs})
file(STRINGS ${olaf_programs} OLAF_OBJECTS REGEX "^ *{\"olaf_")
list(TRANSFORM OLAF_OBJECTS REPLACE "^ *{\"[a-z0-9_]+\", \"([a-z0-9_]+)\".*" "\\1")
list(REMOVE_DUPLICATES OLAF_OBJECTS)
