# SPDX-License-Identifier: BSD-2-Clause
# Who contributes while the job is being removed is told that its chunk is over.
set(file bpf/rounds/contribute.bpf.h)
set(programs rounds)
set(scenario ARemovalMeetsAContribution)
set(from [==[
	int is_over = !halted && *(volatile __u32 *)&t->job->state != OLAF_JOB_NONE;
]==])
set(to [==[
	int is_over = !halted;
]==])
