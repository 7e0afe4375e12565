/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_losses: what was lost behind the queue, by place.
 *
 * Key 0, struct olaf_losses, one copy a CPU. Writers: the loss programs. An skb may die in a
 * process, which a softirq that loses another one interrupts: increments are atomic. User space
 * sums.
 */
#ifndef OLAF_LOSSES_BPF_H
#define OLAF_LOSSES_BPF_H

#include "bpf/age/events.bpf.h"
#include "bpf/spells.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_losses);
} olaf_losses SEC(".maps");

static __always_inline int olaf_lose(__u32 where, __u32 frames, __u32 updates)
{
	struct olaf_losses *losses;
	struct olaf_telling *telling;
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;

	losses = bpf_map_lookup_elem(&olaf_losses, &zero);
	if (!losses)
		return 0;
	__sync_fetch_and_add(&losses->frames[where], frames);
	__sync_fetch_and_add(&losses->updates[where], updates);
	olaf_spell_note(OLAF_TROUBLE_LOST, now);
	if (!olaf_listened(now))
		return 0;
	telling = olaf_event_begin(OLAF_EVENT_LOSS, where, NULL, now);
	if (!telling)
		return 0;
	telling->record.event.frames = frames;
	telling->record.event.count = updates;
	olaf_event_send(telling);
	return 0;
}

#endif /* OLAF_LOSSES_BPF_H */
