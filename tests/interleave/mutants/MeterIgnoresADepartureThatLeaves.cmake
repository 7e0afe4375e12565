# SPDX-License-Identifier: BSD-2-Clause
# A passage is metered while a departure of its slot writes the meter.
set(file bpf/age/aom.bpf.h)
set(programs ingress)
set(scenario APassageMeetsADeparture)
set(from [==[
	if (olaf_slot_is_leaving(slot) || *(volatile __u32 *)&slot->lock ||
	    __sync_lock_test_and_set(&slot->lock, 1))
		return 0;
	if (!olaf_slot_is_leaving(slot)) {
]==])
set(to [==[
	if (*(volatile __u32 *)&slot->lock || __sync_lock_test_and_set(&slot->lock, 1))
		return 0;
	{
]==])
