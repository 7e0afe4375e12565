# SPDX-License-Identifier: BSD-2-Clause
# A clone is written from a slot whose lock was given back.
set(file bpf/rounds/clones.bpf.h)
set(programs rounds copies)
set(scenario ACopyMeetsABufferThatGivesWay)
set(from [==[
	if (slot && olaf_lock(&slot->lock)) {
]==])
set(to [==[
	if (slot && olaf_lock(&slot->lock)) {
		olaf_unlock(&slot->lock);
]==])
