# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: what was the head when it was looked at is popped.
set(file bpf/order/places.bpf.h)
set(programs ingress drain)
set(scenario ARiderAndTheDrainWantOneHead)
set(from [==[
	popped = ring->head == position && ring->head != ring->tail &&
		 place->state == OLAF_PLACE_WAITING && place->slot == slot &&
]==])
set(to [==[
	popped = ring->head != ring->tail && place->slot == slot &&
]==])
