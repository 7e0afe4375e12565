# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: the buffer is free before its copy is done.
set(file bpf/depart/departure.bpf.h)
set(programs ingress drain)
set(scenario AFoldMeetsAPop)
set(from [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_LEAVING;
]==])
set(to [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_FREE;
]==])
