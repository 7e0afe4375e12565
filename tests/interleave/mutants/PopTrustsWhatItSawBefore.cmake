# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: what was the head when it was looked at is popped.
set(file bpf/order/ring.bpf.h)
set(programs ingress lane)
set(scenario ARiderAndTheLaneWantOneHead)
set(from [==[
	popped = ring->head == position && ring->head != ring->tail &&
		 now >= ring->next_departure_ns && place->state == OLAF_PLACE_WAITING &&
]==])
set(to [==[
	popped = ring->head != ring->tail && now >= ring->next_departure_ns &&
]==])
