# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: which buffer may an arrival fold into?
set(file bpf/slots/admit.bpf.h)
set(programs ingress)
set(scenario AFoldMeetsAPop)
set(from [==[
	if (!olaf_lock(&slot->lock)) {
		olaf_trouble_contended(a->update.count, a->now);
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_CONTENDED);
		return;
	}
	first = olaf_buffer_is_open(slot, 0);
]==])
set(to [==[
	first = olaf_buffer_is_open(slot, 0);
	if (!olaf_lock(&slot->lock)) {
		olaf_trouble_contended(a->update.count, a->now);
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_CONTENDED);
		return;
	}
]==])
