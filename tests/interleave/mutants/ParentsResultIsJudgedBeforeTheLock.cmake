# SPDX-License-Identifier: BSD-2-Clause
# Whether a result is of this generation is looked up before the slot's lock is had.
set(file bpf/rounds/down.bpf.h)
set(programs rounds)
set(scenario AllBeginAnewWhileAResultComes)
set(from [==[
	if (!t.slot || !olaf_lock(&t.slot->lock))
		return OLAF_ROUND_RIDE;
	if (olaf_down_is_current(&t)) {
]==])
set(to [==[
	int current = olaf_down_is_current(&t);

	if (!t.slot || !olaf_lock(&t.slot->lock))
		return OLAF_ROUND_RIDE;
	if (current) {
]==])
