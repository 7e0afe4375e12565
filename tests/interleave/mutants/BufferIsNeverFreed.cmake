# SPDX-License-Identifier: BSD-2-Clause
# A missing release: a slot departs once and never again.
set(file bpf/depart/departure.bpf.h)
set(programs ingress drain)
set(scenario TwoDeparturesOfOneSlot)
set(from [==[
	if (slot)
		olaf_release_as(&slot->buffers[olaf_buffer_of(claim->entry)], claim->fate);
]==])
set(to [==[
	(void)slot;
]==])
