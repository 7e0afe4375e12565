# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: the lock is given back before the head has moved.
set(file bpf/order/places.bpf.h)
set(programs ingress drain)
set(scenario ARiderAndTheDrainWantOneHead)
set(from [==[
		ring->head = position + 1;
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
]==])
set(to [==[
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
	if (popped)
		*(volatile __u64 *)&ring->head = position + 1;
]==])
