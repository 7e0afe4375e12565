# SPDX-License-Identifier: BSD-2-Clause
# The token ends by what was seen before the lock was taken.
set(file bpf/drain.bpf.c)
set(programs drain)
set(scenario TheLastDepartureMeetsALaunch)
set(from [==[
	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->drain_generation == generation) {
		if (ring->head == ring->tail && !ring->holds) {
]==])
set(to [==[
	int idle = !olaf_ring_waits(ring) && !*(volatile __u32 *)&ring->holds;

	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->drain_generation == generation) {
		if (idle) {
]==])
