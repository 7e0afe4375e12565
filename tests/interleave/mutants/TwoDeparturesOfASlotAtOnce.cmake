# SPDX-License-Identifier: BSD-2-Clause
# Two departures of one slot at a time.
set(file bpf/depart/departure.bpf.h)
set(programs ingress drain)
set(scenario TwoDeparturesOfOneSlot)
set(from [==[
	popped = entry && !olaf_slot_is_leaving(slot) &&
]==])
set(to [==[
	popped = entry &&
]==])
