# SPDX-License-Identifier: BSD-2-Clause
# A result says that it is of the generation that the job has, not of the one that it has itself.
set(file bpf/rounds/frame.bpf.h)
set(programs rounds copies)
set(scenario AResetMeetsADelivery)
set(from [==[
	olaf_result_head(header, job, rank, flags, lanes, buffer->generation);
]==])
set(to [==[
	olaf_result_head(header, job, rank, flags, lanes, *(volatile __u32 *)&job->generation);
]==])
