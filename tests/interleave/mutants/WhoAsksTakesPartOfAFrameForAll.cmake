# SPDX-License-Identifier: BSD-2-Clause
# Who is answered alone is taken from those that the frame for all is counted for.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario ARepetitionMeetsTheFrameForAll)
set(from [==[
	if (olaf_round_is_for_group(job, job_index, buffer))
		return 0;
]==])
set(to [==[
]==])
