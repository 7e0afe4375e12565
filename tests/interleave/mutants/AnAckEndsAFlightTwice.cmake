# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: was the flight released meanwhile?
set(file bpf/ack/ack_window.bpf.h)
set(programs egress)
set(scenario TwoAcksOfOneSlot)
set(from [==[
	if (search->position - window->oldest < window->next - window->oldest &&
	    flight->state == OLAF_FLIGHT_OPEN) {
]==])
set(to [==[
	if (search->position - window->oldest < window->next - window->oldest) {
]==])
