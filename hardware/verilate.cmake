# SPDX-License-Identifier: BSD-2-Clause
# The RTL, its package first: OLAF_RTL. olaf_verilate(NAME TOP FILE...) makes a library NAME of module TOP of such
# files, with Verilator. What begins with a dash among the files is an option of Verilator's.
include_guard(DIRECTORY)

find_program(OLAF_VERILATOR verilator DOC "makes C++ of the RTL")
find_program(OLAF_MAKE make DOC "builds what Verilator wrote")

file(GLOB OLAF_RTL CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hardware/rtl/olaf_*.sv)
set(OLAF_RTL ${PROJECT_SOURCE_DIR}/hardware/rtl/olaf.sv ${OLAF_HARDWARE_DIR}/olaf_registers.sv ${OLAF_RTL})

function(olaf_verilate name top)
  execute_process(COMMAND ${OLAF_VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE root
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(files ${ARGN})
  list(FILTER files EXCLUDE REGEX "^-")
  set(library ${dir}/V${top}__ALL.a)
  add_custom_command(
    OUTPUT ${library} ${dir}/V${top}.h
    COMMAND ${OLAF_VERILATOR} --cc --build -j 2 -Wall -Wno-DECLFILENAME -Wno-UNUSED
            --x-assign unique --x-initial unique -O3 -MAKEFLAGS OPT_FAST=-O1 -MAKEFLAGS OPT_SLOW=-O0
            --top-module ${top} --Mdir ${dir} ${ARGN} > ${dir}.log 2>&1
            || (cat ${dir}.log && false)
    DEPENDS ${files}
    COMMENT "Verilating ${top}")
  # Verilator's own code, which its makefiles build for programs only.
  add_library(${name}_base STATIC ${root}/include/verilated.cpp ${root}/include/verilated_threads.cpp)
  target_include_directories(${name}_base SYSTEM PRIVATE ${root}/include ${root}/include/vltstd)

  add_custom_target(${name}_made DEPENDS ${library})
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_made)
  target_include_directories(${name} SYSTEM INTERFACE ${dir} ${root}/include ${root}/include/vltstd)
  find_package(Threads REQUIRED)
  target_link_libraries(${name} INTERFACE ${library} ${name}_base Threads::Threads)
endfunction()
