# SPDX-License-Identifier: BSD-2-Clause
# The last member that asks starts a job that was removed meanwhile.
set(file bpf/rounds/membership.bpf.h)
set(programs rounds)
set(scenario ARemovalMeetsTheLastThatAsks)
set(from [==[
	if (job->state != OLAF_JOB_NONE)
		return 1;
	olaf_unlock(&job->lock);
	return 0;
]==])
set(to [==[
	return 1;
]==])
