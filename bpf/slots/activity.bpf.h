/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is a cluster active? It is for as long as its last update lies no further back than the
 * window of activity (protocol.md).
 *
 * active_epoch_ns of each cluster's first slot is written under olaf_active's lock. The first
 * look at the slot is without it, so that only the first update of a cluster in an epoch takes
 * the lock.
 */
#ifndef OLAF_ACTIVITY_BPF_H
#define OLAF_ACTIVITY_BPF_H

#include "bpf/slots/active.bpf.h"
#include "bpf/slots/slot.bpf.h"

/* The first update of a cluster in an epoch: see olaf_mark_active(). */
__noinline int olaf_count_active(__u32 first_slot, __u64 now)
{
	__u64 window = olaf_cfg.activity_window_ns;
	struct olaf_active *active;
	struct olaf_slot *slot;
	__u32 zero = 0;
	__u64 epoch;

	slot = olaf_slot_at(first_slot);
	active = bpf_map_lookup_elem(&olaf_active, &zero);
	if (!slot || !active || !window || !olaf_lock(&active->lock))
		return -1;
	epoch = now - now % window + 1; /* the first is not "never" */
	if (epoch > active->epoch_start_ns) {
		active->previous_clusters =
			epoch == active->epoch_start_ns + window ? active->current_clusters : 0;
		active->current_clusters = 0;
		active->epoch_start_ns = epoch;
	}
	/* A CPU that was slow to get here must not put the epoch back. */
	epoch = active->epoch_start_ns;
	if (slot->active_epoch_ns != epoch) {
		active->current_clusters++;
		if (slot->active_epoch_ns + window == epoch && active->previous_clusters)
			active->previous_clusters--;
		slot->active_epoch_ns = epoch;
	}
	olaf_unlock(&active->lock);
	return 0;
}

/*
 * Counts the cluster as active, once an epoch (an epoch is one activity window).
 * A cluster seen in the epoch before moves from that epoch's count to this one's.
 */
static __always_inline void olaf_mark_active(__u32 cluster, __u64 now)
{
	__u32 first = cluster * olaf_cfg.max_segments;
	struct olaf_slot *slot = olaf_slot_at(first);
	__u64 epoch;

	if (!slot)
		return;
	/* Unsigned: a stamp of the future reads as long ago. 0 is never, however short we are up. */
	epoch = *(volatile __u64 *)&slot->active_epoch_ns;
	if (!epoch || now - epoch >= olaf_cfg.activity_window_ns)
		olaf_count_active(first, now);
}

#endif /* OLAF_ACTIVITY_BPF_H */
