# SPDX-License-Identifier: BSD-2-Clause
# A job that is resumed between two looks tells a member that its chunk is over.
set(file bpf/rounds/contribute.bpf.h)
set(programs rounds)
set(scenario AHaltMeetsAContribution)
set(from [==[
		return olaf_meet_closed(ctx, t, runs && halted);
]==])
set(to [==[
		return olaf_meet_closed(ctx, t, runs && *(volatile __u32 *)&t->job->halted);
]==])
