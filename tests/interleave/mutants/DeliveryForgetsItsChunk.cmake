# SPDX-License-Identifier: BSD-2-Clause
# Who took a delivery sends whatever the buffer holds by then.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario ARiderMeetsABufferThatGivesWay)
set(from [==[
		       buffer->round == delivery->round && buffer->chunk == delivery->chunk;
]==])
set(to [==[
		       1;
]==])
