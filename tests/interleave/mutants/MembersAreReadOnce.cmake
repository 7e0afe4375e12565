# SPDX-License-Identifier: BSD-2-Clause
# Who reads a round's members doesn't look again whether the set is still the round's.
set(file bpf/rounds/membership.bpf.h)
set(programs rounds)
set(scenario AJoinMeetsTheEndOfAnOldChunk)
set(from [==[
	if (olaf_membership_of(job, round) == set)
		return;
]==])
set(to [==[
	return;
]==])
