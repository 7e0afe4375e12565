# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: is the window open?
set(file bpf/order/due.bpf.h)
set(programs ingress drain)
set(scenario AnAckMeetsATick)
set(from [==[
	return now >= ring->next_departure_ns && olaf_window_opens(now);
]==])
set(to [==[
	return now >= ring->next_departure_ns;
]==])
