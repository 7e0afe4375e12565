# SPDX-License-Identifier: BSD-2-Clause
# A round begins while a joining looks for the first that hasn't begun.
set(file bpf/rounds/changes.bpf.h)
set(programs rounds)
set(scenario AJoinMeetsTheFirstChunkOfARound)
set(from [==[
	if (!job || !olaf_job_lock(job))
		return -1;
	olaf_membership_opened(job, round);
	olaf_unlock(&job->lock);
	return 0;
]==])
set(to [==[
	if (!job)
		return -1;
	olaf_membership_opened(job, round);
	return 0;
]==])
