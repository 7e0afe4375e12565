# SPDX-License-Identifier: BSD-2-Clause
# The token ends although an arrival that popped may still append.
set(file bpf/drain.bpf.c)
set(programs drain)
set(scenario ARiderThatAppendsMeetsTheTokensEnd)
set(from [==[
		if (ring->head == ring->tail && !ring->holds) {
]==])
set(to [==[
		if (ring->head == ring->tail) {
]==])
