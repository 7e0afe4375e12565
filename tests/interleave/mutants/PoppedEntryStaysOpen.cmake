# SPDX-License-Identifier: BSD-2-Clause
# A departing entry isn't closed: arrivals fold into it while it is copied out.
set(file bpf/depart/departure.bpf.h)
set(programs ingress lane)
set(scenario AFoldMeetsAPop)
set(from [==[
			slot->open &= ~(1 << olaf_buffer_of(index));
]==])
set(to [==[
			(void)0;
]==])
