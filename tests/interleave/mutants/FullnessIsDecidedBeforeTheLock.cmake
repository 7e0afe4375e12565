# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: is there a place left?
set(file bpf/order/places.bpf.h)
set(programs ingress)
set(scenario TwoArrivalsWantTheLastPlace)
set(from [==[
	if (!olaf_lock(&ring->lock))
		return OLAF_NO_ENTRY;
	tail = ring->tail;
	place = olaf_place_at(tail);
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity ||
]==])
set(to [==[
	__u32 full = *(volatile __u64 *)&ring->tail - *(volatile __u64 *)&ring->head >=
		     olaf_cfg.queue_capacity;

	if (!olaf_lock(&ring->lock))
		return OLAF_NO_ENTRY;
	tail = ring->tail;
	place = olaf_place_at(tail);
	if (!place || full ||
]==])
