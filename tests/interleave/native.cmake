# SPDX-License-Identifier: BSD-2-Clause
# Kernel programs compiled for this machine.
#
#   olaf_native_programs(NAME)              programs/NAME/*.so: those of the queue and of jobs
#   olaf_mutant(NAME ...)                   the queue's or those of jobs, with a fault: see mutants.cmake
include_guard(GLOBAL)

# Every access to memory calls a hook (hooks.cpp). -O1, and no vectors: accesses stay those that are
# written down. A clamp that the verifier needs leaves its parameters unused here (native.c).
set(olaf_native_flags -fsanitize=thread -mllvm -tsan-distinguish-volatile
    -mllvm -tsan-instrument-read-before-write -mllvm -tsan-instrument-func-entry-exit=0
    -O1 -fno-vectorize -fno-slp-vectorize -g1 -fPIC -shared -nostdlib -fvisibility=hidden -std=gnu11
    -Wall -Wextra -Werror -Wno-unused-parameter)
# For the kernel that they would run in: how a lock is given back differs (bpf/lock.bpf.h).
set(olaf_native_arch ${OLAF_BPF_FLAGS})
list(FILTER olaf_native_arch INCLUDE REGEX "^-D__TARGET_ARCH_")
list(APPEND olaf_native_flags ${olaf_native_arch})

set(olaf_native_queue ingress drain egress)
set(olaf_native_jobs ingress rounds copies jobs parent)

# One object, of what lies below ROOT and then in this project. It also depends on ARGN.
function(olaf_native_object name program root)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/programs/${name}/${program}.so)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/native.c)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${OLAF_CLANG} ${olaf_native_flags} "-DOLAF_PROGRAM=\"bpf/${program}.bpf.c\""
            -I${CMAKE_CURRENT_SOURCE_DIR}/shim -I${root} -I${PROJECT_SOURCE_DIR}
            -I${PROJECT_SOURCE_DIR}/include -MD -MF ${object}.d -MT ${object} ${source} -o ${object}
    MAIN_DEPENDENCY ${source}
    DEPENDS ${ARGN}
    DEPFILE ${object}.d
    COMMENT "native ${name}/${program}"
    VERBATIM)
endfunction()

function(olaf_native_target name)
  set(objects ${ARGN})
  list(TRANSFORM objects PREPEND ${CMAKE_CURRENT_BINARY_DIR}/programs/${name}/)
  list(TRANSFORM objects APPEND .so)
  add_custom_target(olaf_native_${name} DEPENDS ${objects})
  set_property(GLOBAL APPEND PROPERTY OLAF_NATIVE_PROGRAMS olaf_native_${name})
endfunction()

function(olaf_native_programs name)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
  set(all ${olaf_native_queue} ${olaf_native_jobs})
  list(REMOVE_DUPLICATES all)
  foreach(program ${all})
    olaf_native_object(${name} ${program} ${PROJECT_SOURCE_DIR})
  endforeach()
  olaf_native_target(${name} ${all})
endfunction()

function(olaf_mutant name says)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FILE;SCENARIO;FROM;TO" "PROGRAMS")
  set(mutant ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.cmake)
  file(CONFIGURE OUTPUT ${mutant} @ONLY CONTENT
       "# @says@\nset(file @arg_FILE@)\nset(from [==[\n@arg_FROM@]==])\nset(to [==[\n@arg_TO@]==])\n")
  set(out ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
  set(seeded ${out}/source/seeded)
  file(MAKE_DIRECTORY ${out})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bpf/*.[ch])
  add_custom_command(
    OUTPUT ${seeded}
    COMMAND ${CMAKE_COMMAND} -D mutant=${mutant} -D bpf=${PROJECT_SOURCE_DIR}/bpf
            -D into=${out}/source -P ${CMAKE_CURRENT_SOURCE_DIR}/seed.cmake
    DEPENDS ${headers} ${mutant} ${CMAKE_CURRENT_SOURCE_DIR}/seed.cmake
    COMMENT "mutant ${name}"
    VERBATIM)
  set(all ${olaf_native_queue})
  if("rounds" IN_LIST arg_PROGRAMS OR "jobs" IN_LIST arg_PROGRAMS OR "parent" IN_LIST arg_PROGRAMS)
    set(all ${olaf_native_jobs})
  endif()
  foreach(program ${all})
    if(program IN_LIST arg_PROGRAMS)
      olaf_native_object(${name} ${program} ${out}/source ${seeded})
    else() # the fault isn't in it
      set(sound ${CMAKE_CURRENT_BINARY_DIR}/programs/sound/${program}.so)
      add_custom_command(OUTPUT ${out}/${program}.so
                         COMMAND ${CMAKE_COMMAND} -E copy ${sound} ${out}/${program}.so
                         DEPENDS ${sound} VERBATIM)
    endif()
  endforeach()
  olaf_native_target(${name} ${all})
  set_property(GLOBAL APPEND_STRING PROPERTY OLAF_MUTANTS "{\"${name}\", \"${arg_SCENARIO}\"},\n")
endfunction()
