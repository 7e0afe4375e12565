# SPDX-License-Identifier: BSD-2-Clause
# Whether the rank has contributed already is looked up before the slot's lock is had.
set(file bpf/rounds/contribute.bpf.h)
set(programs rounds)
set(scenario AContributionComesTwiceAtOnce)
set(from [==[
	struct olaf_child *child;

	if (!olaf_ranks_has(&buffer->in, t->m->rank))
		return 0;
]==])
set(to [==[
	struct olaf_child *child;
	struct olaf_ranks in;
	int i;

	for (i = 0; i < OLAF_RANK_WORDS; i++)
		in.word[i] = *(volatile __u64 *)&buffer->in.word[i];
	olaf_unlock(&t->slot->lock);
	if (!olaf_lock(&t->slot->lock) || !olaf_ranks_has(&in, t->m->rank))
		return 0;
]==])
