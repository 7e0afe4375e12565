# SPDX-License-Identifier: BSD-2-Clause
# Copies bpf/ into a folder and seeds the fault of one mutant (mutants.cmake): in `file`, the one place
# where `from` stands gets `to`. A fault that has no such place any more fails the build.
include(${mutant})
file(REMOVE_RECURSE ${into}/bpf)
file(COPY ${bpf} DESTINATION ${into})
file(READ ${into}/${file} text)
string(FIND "${text}" "${from}" first)
string(FIND "${text}" "${from}" last REVERSE)
if(first EQUAL -1 OR NOT first EQUAL last)
  message(FATAL_ERROR "${file} doesn't have exactly one place for the fault of ${mutant}:\n${from}")
endif()
string(REPLACE "${from}" "${to}" text "${text}")
file(WRITE ${into}/${file} "${text}")
file(TOUCH ${into}/seeded)
