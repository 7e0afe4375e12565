# SPDX-License-Identifier: BSD-2-Clause
# Who is owed the result stays so when it has left.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario TwoFramesForAllLeaveAtOnce)
set(from [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return olaf_owed_forget(buffer);
]==])
set(to [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return job->setup.children;
]==])
