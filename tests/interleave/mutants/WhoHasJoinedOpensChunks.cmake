# SPDX-License-Identifier: BSD-2-Clause
# Who holds no results opens a chunk, and one that others need is over.
set(file bpf/rounds/contribute.bpf.h)
set(programs rounds)
set(scenario WhoHasJoinedSendsWhileOthersAreBehind)
set(from [==[
which < OLAF_ROUND_BUFFERS && !olaf_is_joining(t->job, t->m->rank)]==])
set(to [==[
which < OLAF_ROUND_BUFFERS]==])
