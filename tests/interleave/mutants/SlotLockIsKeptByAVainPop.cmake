# SPDX-License-Identifier: BSD-2-Clause
# A missing release: who comes too late for the head keeps its slot's lock.
set(file bpf/depart/departure.bpf.h)
set(programs ingress drain)
set(scenario ARiderAndTheDrainWantOneHead)
set(from [==[
		claim->got |= OLAF_GOT_DEPARTURE;
	}
	olaf_unlock(&slot->lock);
]==])
set(to [==[
		claim->got |= OLAF_GOT_DEPARTURE;
		olaf_unlock(&slot->lock);
	}
]==])
