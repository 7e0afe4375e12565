# SPDX-License-Identifier: BSD-2-Clause
# The slot's lock is given back before its lanes are in the frame.
set(file bpf/rounds/ride.bpf.h)
set(programs rounds)
set(scenario ARiderMeetsABufferThatGivesWay)
set(from [==[
		buffer = &slot->buffer[delivery->buffer & 1];
]==])
set(to [==[
		buffer = &slot->buffer[delivery->buffer & 1];
		olaf_unlock(&slot->lock);
]==])
