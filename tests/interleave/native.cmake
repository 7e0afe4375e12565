# SPDX-License-Identifier: BSD-2-Clause
# Kernel programs compiled for this machine.
#
#   olaf_native_programs(NAME [FILE file FROM pattern TO text])
#
# makes programs/NAME/{ingress,lane,egress}.so. With FILE they are made of a copy of bpf/ in which the
# one match of a regular expression in that file is replaced: a fault is seeded (seed.cmake).
include_guard(GLOBAL)

# Every access to memory calls a hook (hooks.cpp). -O1, and no vectors: accesses stay those that are
# written down. A clamp that the verifier needs leaves its parameters unused here (native.c).
set(olaf_native_flags -fsanitize=thread -mllvm -tsan-distinguish-volatile
    -mllvm -tsan-instrument-read-before-write -mllvm -tsan-instrument-func-entry-exit=0
    -O1 -fno-vectorize -fno-slp-vectorize -g1 -fPIC -fvisibility=hidden -std=gnu11
    -Wall -Wextra -Werror -Wno-unused-parameter)
# For the kernel that they would run in: how a lock is given back differs (bpf/lock.bpf.h).
set(olaf_native_arch ${OLAF_BPF_FLAGS})
list(FILTER olaf_native_arch INCLUDE REGEX "^-D__TARGET_ARCH_")
list(APPEND olaf_native_flags ${olaf_native_arch})

function(olaf_native_programs name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;FROM;TO" "")
  set(out ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
  file(MAKE_DIRECTORY ${out})
  set(root ${PROJECT_SOURCE_DIR})
  set(seeded "")
  if(arg_FILE)
    set(root ${out}/source)
    set(seeded ${root}/seeded)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bpf/*.[ch])
    add_custom_command(
      OUTPUT ${seeded}
      COMMAND ${CMAKE_COMMAND} -D "bpf=${PROJECT_SOURCE_DIR}/bpf" -D "into=${root}" -D "file=${arg_FILE}"
              -D "from=${arg_FROM}" -D "to=${arg_TO}" -P ${CMAKE_CURRENT_SOURCE_DIR}/seed.cmake
      DEPENDS ${headers} ${CMAKE_CURRENT_SOURCE_DIR}/seed.cmake ${CMAKE_CURRENT_SOURCE_DIR}/mutants.cmake
      VERBATIM)
  endif()
  set(objects "")
  foreach(program ingress lane egress)
    set(object ${out}/${program}.so)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${OLAF_CLANG} ${olaf_native_flags} -DOLAF_PROGRAM="bpf/${program}.bpf.c"
              -I${CMAKE_CURRENT_SOURCE_DIR}/shim -I${root} -I${PROJECT_SOURCE_DIR}
              -I${PROJECT_SOURCE_DIR}/include -MD -MF ${object}.d -MT ${object} -shared
              ${CMAKE_CURRENT_SOURCE_DIR}/native.c -o ${object} -nostdlib
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/native.c ${seeded}
      DEPFILE ${object}.d
      COMMENT "native ${name}/${program}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(olaf_native_${name} DEPENDS ${objects})
  set_property(GLOBAL APPEND PROPERTY OLAF_NATIVE_PROGRAMS olaf_native_${name})
endfunction()
