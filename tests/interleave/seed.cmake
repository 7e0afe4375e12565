# SPDX-License-Identifier: BSD-2-Clause
# Copies bpf/ and seeds one fault: in `file`, the one match of `from` becomes `to`.
file(REMOVE_RECURSE ${into})
file(COPY ${bpf} DESTINATION ${into})
file(READ ${into}/${file} text)
string(FIND "${text}" "${from}" first)
string(FIND "${text}" "${from}" last REVERSE)
if(first EQUAL -1 OR NOT first EQUAL last)
  message(FATAL_ERROR "${file} doesn't have exactly one of what a mutant replaces: ${from}")
endif()
string(REPLACE "${from}" "${to}" text "${text}")
file(WRITE ${into}/${file} "${text}")
file(TOUCH ${into}/seeded)
