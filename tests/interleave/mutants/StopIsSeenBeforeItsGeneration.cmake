# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: who contributes while the job is being stopped is told that its chunk is over.
set(file bpf/rounds/agree.bpf.h)
set(programs rounds)
set(scenario AChildAsksAnewWhileAnotherContributes)
set(from [==[
	*(volatile __u32 *)&job->generation = generation ? generation : 1;
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
]==])
set(to [==[
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
	*(volatile __u32 *)&job->generation = generation ? generation : 1;
]==])
