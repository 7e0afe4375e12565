# SPDX-License-Identifier: BSD-2-Clause
# A token is replaced, and the old one isn't told from it.
set(file bpf/order/ring.bpf.h)
set(programs ingress)
set(scenario AnOverdueTokenComesBack)
set(from [==[
	if (++ring->drain_generation == OLAF_PROOF)
]==])
set(to [==[
	if (ring->drain_generation == OLAF_KICK)
]==])
