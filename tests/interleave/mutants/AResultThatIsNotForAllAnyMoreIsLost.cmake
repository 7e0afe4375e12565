# SPDX-License-Identifier: BSD-2-Clause
# Who takes a frame for all from the line finds that it can't be one, and leaves it at that.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario AJoinIsOverWhileAFrameForAllLeaves)
set(from [==[
	if (olaf_owes(buffer))
		olaf_line_rejoin(job_index, delivery->buffer);
]==])
set(to [==[
]==])
