# SPDX-License-Identifier: BSD-2-Clause
# One frame for all, though it says to one of them what is not so.
set(file bpf/rounds/group.bpf.h)
set(programs rounds copies)
set(scenario TwoContributeWhereOneIsEnough)
set(from [==[
	if (!job->setup.group_family ||
	    (!(buffer->flags & OLAF_FLAG_LATE) && olaf_round_lacks(job, buffer)))
		return 0;
]==])
set(to [==[
	if (!job->setup.group_family)
		return 0;
]==])
