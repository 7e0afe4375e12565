# SPDX-License-Identifier: BSD-2-Clause
# A delivery is looked for and then taken: two frames may take one.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario TwoFramesWantOneDelivery)
set(from [==[
	if (!bit || !(__sync_fetch_and_and(word, ~bit) & bit))
		return OLAF_NO_RANK;
]==])
set(to [==[
	if (!bit)
		return OLAF_NO_RANK;
	__sync_fetch_and_and(word, ~bit);
]==])
