# SPDX-License-Identifier: BSD-2-Clause
# The set that old rounds have is written while a chunk of theirs is completed.
set(file bpf/rounds/changes.bpf.h)
set(programs rounds)
set(scenario AJoinMeetsTheEndOfAnOldChunk)
set(from [==[
		*(volatile __u64 *)&membership->joining = joining >> 32 << 32 | (first - OLAF_LONG_AGO);
]==])
set(to [==[
]==])
