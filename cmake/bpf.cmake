# SPDX-License-Identifier: BSD-2-Clause
# Compiling BPF programs and embedding them.
#
#   olaf_bpf_object(NAME source.bpf.c [INCLUDES dir...] [DEFINES def...])
#
# makes an INTERFACE library NAME_skel: link it to get <NAME.skel.h>, the libbpf skeleton of the
# object, and libbpf itself. The object lies at ${CMAKE_CURRENT_BINARY_DIR}/bpf/NAME.bpf.o, which
# the target's property OLAF_BPF_OBJECT also tells.
include_guard(GLOBAL)

find_program(OLAF_CLANG NAMES clang-19 clang-20 clang-18 clang-17 clang-16 clang REQUIRED
             DOC "clang that compiles BPF")
find_program(OLAF_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin REQUIRED DOC "generates skeletons")
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET GLOBAL libbpf)

# Debian keeps asm/types.h in the host's multiarch directory, which `-target bpf` does not search.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-multiarch OUTPUT_VARIABLE olaf_triple
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT olaf_triple OR NOT EXISTS /usr/include/${olaf_triple})
  execute_process(COMMAND ${OLAF_CLANG} -print-target-triple OUTPUT_VARIABLE olaf_triple
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "-pc-" "-" olaf_triple "${olaf_triple}")
endif()
set(olaf_bpf_system_include "")
if(olaf_triple AND EXISTS /usr/include/${olaf_triple})
  set(olaf_bpf_system_include -idirafter /usr/include/${olaf_triple})
endif()

# The architecture the programs will run on: what its memory order allows differs (bpf/lock.bpf.h).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
  set(olaf_bpf_arch -D__TARGET_ARCH_x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(olaf_bpf_arch -D__TARGET_ARCH_arm64)
endif()

# One set of flags for every BPF program, baselines included: figures stay comparable. -mcpu=v3 is
# what Linux 6.1 takes (v4 wants 6.6); -g is for BTF.
set(OLAF_BPF_FLAGS ${olaf_bpf_arch} -target bpf -mcpu=v3 -O2 -g -std=gnu11 -fno-strict-aliasing -Wall -Wextra -Werror
    ${olaf_bpf_system_include} CACHE INTERNAL "flags of every BPF program")

function(olaf_bpf_object name source)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "INCLUDES;DEFINES")
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/bpf)
  set(object ${out}/${name}.bpf.o)
  set(skeleton ${out}/${name}.skel.h)
  file(MAKE_DIRECTORY ${out})

  set(flags ${OLAF_BPF_FLAGS})
  foreach(dir ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${arg_INCLUDES})
    list(APPEND flags -I${dir})
  endforeach()
  foreach(define ${arg_DEFINES})
    list(APPEND flags -D${define})
  endforeach()

  add_custom_command(
    OUTPUT ${object}
    COMMAND ${OLAF_CLANG} ${flags} -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    MAIN_DEPENDENCY ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
  # Written beside and moved: a failing bpftool must not leave half a header behind.
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${OLAF_BPFTOOL} gen skeleton ${object} name ${name} > ${skeleton}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${skeleton}.new ${skeleton}
    DEPENDS ${object}
    COMMENT "BPF skeleton ${name}")

  add_custom_target(${name}_bpf DEPENDS ${skeleton})
  add_library(${name}_skel INTERFACE)
  add_dependencies(${name}_skel ${name}_bpf)
  # SYSTEM: generated code need not pass our warnings.
  target_include_directories(${name}_skel SYSTEM INTERFACE ${out})
  target_link_libraries(${name}_skel INTERFACE PkgConfig::LIBBPF)
  set_target_properties(${name}_skel PROPERTIES OLAF_BPF_OBJECT ${object})
endfunction()
