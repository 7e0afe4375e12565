# SPDX-License-Identifier: BSD-2-Clause
# A departing entry isn't closed: arrivals fold into it while it is copied out.
set(file bpf/depart/departure.bpf.h)
set(programs ingress drain)
set(scenario AFoldMeetsAPop)
set(from [==[
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_LEAVING;
]==])
set(to [==[
		(void)0;
]==])
