# SPDX-License-Identifier: BSD-2-Clause
# A swapped order: who looks at the line in between passes the result by.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario TwoResultsJoinTheLine)
set(from [==[
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		*(volatile __u64 *)&buffer->owed.word[i] = members.word[i];
	olaf_line_join(job, place);
]==])
set(to [==[
	olaf_line_join(job, place);
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		*(volatile __u64 *)&buffer->owed.word[i] = members.word[i];
]==])
