# SPDX-License-Identifier: BSD-2-Clause
# Two departures of one slot at a time.
set(file bpf/depart/departure.bpf.h)
set(programs ingress lane)
set(scenario TwoDeparturesOfOneSlot)
set(from [==[
	popped = entry && !slot->inflight &&
]==])
set(to [==[
	popped = entry &&
]==])
