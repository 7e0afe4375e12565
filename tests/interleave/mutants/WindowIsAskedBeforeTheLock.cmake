# SPDX-License-Identifier: BSD-2-Clause
# A check outside the lock: is the window open?
set(file bpf/order/ring.bpf.h)
set(programs ingress lane)
set(scenario AnAckMeetsATick)
set(from [==[
		 olaf_window_opens(now) && olaf_gate_take(now);
]==])
set(to [==[
		 olaf_gate_take(now);
]==])
