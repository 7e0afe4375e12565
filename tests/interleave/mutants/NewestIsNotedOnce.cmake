# SPDX-License-Identifier: BSD-2-Clause
# Whoever comes second doesn't look again: its contribution may be older than one that isn't noted.
set(file bpf/rounds/add.bpf.h)
set(programs rounds)
set(scenario OneChildsChunksOnTwoCpus)
set(from [==[
#define OLAF_NEWEST_LOOKS 16
]==])
set(to [==[
#define OLAF_NEWEST_LOOKS 1
]==])
