# SPDX-License-Identifier: BSD-2-Clause
# An entry that has become complete stands in the ring, and its slot doesn't know where.
set(file bpf/slots/open.bpf.h)
set(programs ingress)
set(trial YES)
set(scenario AnEntryThatIsCompleteMeetsAPop)
set(from [==[
	slot->position[buffer & 1] = position;
	olaf_count_joined(slot, a, 1);
]==])
set(to [==[
	olaf_count_joined(slot, a, 1);
]==])
