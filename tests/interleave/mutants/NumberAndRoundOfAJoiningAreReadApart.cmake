# SPDX-License-Identifier: BSD-2-Clause
# Who is in a round is told by the number of one joining and the first round of another.
set(file bpf/rounds/membership.bpf.h)
set(programs rounds)
set(scenario AJoinMeetsTheEndOfAnOldChunk)
set(from [==[
	return ((__u32)(joining >> 32) - (olaf_is_before(round, (__u32)joining) ? 1 : 0)) & 1;
]==])
set(to [==[
	return ((__u32)(*(volatile __u64 *)&job->membership.joining >> 32) -
		(olaf_is_before(round, (__u32)joining) ? 1 : 0)) & 1;
]==])
