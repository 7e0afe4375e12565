# SPDX-License-Identifier: BSD-2-Clause
# Who leaves is out of new rounds only.
set(file bpf/rounds/membership.bpf.h)
set(programs rounds)
set(scenario ALeaveMeetsTheLastContribution)
set(from [==[
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
]==])
set(to [==[
	olaf_absent_put(job, olaf_membership_now(job), rank, 1);
]==])
