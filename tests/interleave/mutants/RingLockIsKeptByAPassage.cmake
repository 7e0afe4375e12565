# SPDX-License-Identifier: BSD-2-Clause
# A missing release: who passes by the queue keeps the ring's lock.
set(file bpf/order/due.bpf.h)
set(programs ingress)
set(scenario APassageMeetsADeparture)
set(from [==[
	olaf_unlock(&ring->lock);
	return passes;
]==])
set(to [==[
	return passes;
]==])
