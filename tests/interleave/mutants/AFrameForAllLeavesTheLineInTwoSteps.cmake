# SPDX-License-Identifier: BSD-2-Clause
# The head is looked at and then moved: two frames may take one result, and pass another by.
set(file bpf/rounds/line.bpf.h)
set(programs rounds copies)
set(scenario TwoFramesForAllLeaveAtOnce)
set(from [==[
			if (__sync_val_compare_and_swap(&line->head, head, head + 1) == head)
				return 1;
			continue;
]==])
set(to [==[
			if (*(volatile __u32 *)&line->head != head)
				continue;
			*(volatile __u32 *)&line->head = head + 1;
			return 1;
]==])
