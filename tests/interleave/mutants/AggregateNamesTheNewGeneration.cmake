# SPDX-License-Identifier: BSD-2-Clause
# What was gathered in one generation is sent up as of whatever generation the parent has by then.
set(file bpf/rounds/up.bpf.h)
set(programs rounds)
set(scenario AllBeginAnewWhileAnAggregateLeaves)
set(from [==[
	return *(volatile __u32 *)&job->generation == generation ? parents : 0;
]==])
set(to [==[
	return generation ? parents : 0;
]==])
