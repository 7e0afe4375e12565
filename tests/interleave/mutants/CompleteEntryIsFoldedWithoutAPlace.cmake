# SPDX-License-Identifier: BSD-2-Clause
# No place is free for an entry that has become complete, and the update is folded all the same.
set(file bpf/slots/open.bpf.h)
set(programs ingress)
set(trial YES)
set(scenario NoPlaceIsFreeForOneThatIsComplete)
set(from [==[
		olaf_count_unplaced(slot, a, OLAF_DROPPED_FULL);
		return 0;
]==])
set(to [==[
		olaf_count_joined(slot, a, 0);
		return 1;
]==])
