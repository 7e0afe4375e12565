# SPDX-License-Identifier: BSD-2-Clause
# Two lines share their places: a result that joins one takes another's place in the other.
set(file bpf/rounds/line.bpf.h)
set(programs rounds copies)
set(scenario ACompletionJoinsItsCpusLineWhileTheOtherIsServed)
set(from [==[
	__u32 index = OLAF_LINE_PLACES * (number * olaf_cfg.round_slots + job->setup.first_slot) +
		      (position & (places - 1));
]==])
set(to [==[
	__u32 index = OLAF_LINE_PLACES * job->setup.first_slot + (position & (places - 1));
]==])
