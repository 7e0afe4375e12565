# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: a chunk is completed without who joins anew, and isn't PARTIAL.
set(file bpf/rounds/membership.bpf.h)
set(programs rounds)
set(scenario AMemberJoinsAnewWhileItsChunkIsCompleted)
set(from [==[
	olaf_membership_unsettle(job, flags);
	olaf_release_as(&membership->away, 1);
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
]==])
set(to [==[
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
	olaf_release_as(&membership->away, 1);
	olaf_membership_unsettle(job, flags);
]==])
