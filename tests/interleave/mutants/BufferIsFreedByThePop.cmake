# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: the buffer is free before its copy is done.
set(file bpf/depart/departure.bpf.h)
set(programs ingress lane)
set(scenario AFoldMeetsAPop)
set(from [==[
		slot->inflight = 1;
]==])
set(to [==[
		slot->inflight = 1;
		if (olaf_entry_is_buffer(index))
			slot->busy[olaf_buffer_of(index)] = 0;
]==])
