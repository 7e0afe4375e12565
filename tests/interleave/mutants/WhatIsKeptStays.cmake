# SPDX-License-Identifier: BSD-2-Clause
# What is kept doesn't give way: a slot departs twice and never again.
set(file bpf/slots/buffers.bpf.h)
set(programs ingress)
set(trial YES)
set(scenario WhatIsKeptGivesWay)
set(from [==[
	if (first == OLAF_BUFFER_KEPT)
		return 0;
	return second == OLAF_BUFFER_KEPT ? 1 : OLAF_NO_BUFFER;
]==])
set(to [==[
	return OLAF_NO_BUFFER;
]==])
