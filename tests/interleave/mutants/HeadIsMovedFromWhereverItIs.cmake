# SPDX-License-Identifier: BSD-2-Clause
# Who sees that nobody is owed the head's result moves the head on, wherever that is by then.
set(file bpf/rounds/delivery.bpf.h)
set(programs rounds copies)
set(scenario ACompletionMeetsADelivery)
set(from [==[
		__sync_val_compare_and_swap(&line->head, head, head + 1);
]==])
set(to [==[
		__sync_fetch_and_add(&line->head, 1);
]==])
