# SPDX-License-Identifier: BSD-2-Clause
# The head is looked at and then moved: two frames may take one result, and pass another by.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario TwoFramesForAllLeaveAtOnce)
set(from [==[
		return __sync_val_compare_and_swap(&line->head, head, head + 1) == head ?
			       OLAF_LINE_TAKEN :
			       OLAF_LINE_AGAIN;
]==])
set(to [==[
		if (*(volatile __u32 *)&line->head != head)
			return OLAF_LINE_AGAIN;
		*(volatile __u32 *)&line->head = head + 1;
		return OLAF_LINE_TAKEN;
]==])
