# SPDX-License-Identifier: BSD-2-Clause
# A contribution meets its slot whether or not it has the lock.
set(file bpf/rounds/contribute.bpf.h)
set(programs rounds)
set(scenario TwoContributionsCompleteAChunk)
set(from [==[
	act = olaf_meet(ctx, &t);
	olaf_unlock(&t.slot->lock);
]==])
set(to [==[
	olaf_unlock(&t.slot->lock);
	act = olaf_meet(ctx, &t);
]==])
