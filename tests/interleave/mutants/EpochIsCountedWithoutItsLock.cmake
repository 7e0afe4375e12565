# SPDX-License-Identifier: BSD-2-Clause
# A lock is not taken.
set(file bpf/slots/activity.bpf.h)
set(programs ingress)
set(scenario FirstUpdatesOfAnEpoch)
set(from [==[
	if (!counted || !active || !window || !olaf_lock(&active->lock))
]==])
set(to [==[
	if (!counted || !active || !window)
]==])
