# SPDX-License-Identifier: BSD-2-Clause
# A place is taken whose departure is still being copied out.
set(file bpf/order/places.bpf.h)
set(programs ingress)
set(scenario ThePlaceOfASlowDepartureComesRound)
set(from [==[
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity ||
	    place->state != OLAF_PLACE_FREE)
]==])
set(to [==[
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity)
]==])
