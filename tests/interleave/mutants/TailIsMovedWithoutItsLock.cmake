# SPDX-License-Identifier: BSD-2-Clause
# Two results that join the line at once take one place.
set(file bpf/rounds/line.bpf.h)
set(programs rounds copies)
set(scenario TwoResultsJoinTheLine)
set(from [==[
	place = olaf_line_place(job, number, line->tail);
]==])
set(to [==[
	olaf_unlock(&line->lock);
	place = olaf_line_place(job, number, line->tail);
]==])
