/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is a cluster active? It is for as long as its last update lies no further back than the
 * window of activity (protocol.md).
 *
 * Map olaf_active_epochs: the epoch that each cluster was last counted in, by its start; 0: in
 * none. Key cluster, value __u64. Writers: arrivals, under the lock of olaf_active. The first look
 * is without it, so that only the first update of a cluster in an epoch takes the lock.
 */
#ifndef OLAF_ACTIVITY_BPF_H
#define OLAF_ACTIVITY_BPF_H

#include "bpf/slots/active.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, __u64);
} olaf_active_epochs SEC(".maps");

/* The first update of a cluster in an epoch: see olaf_mark_active(). */
__noinline int olaf_count_active(__u32 cluster, __u64 now)
{
	__u64 window = olaf_cfg.activity_window_ns, epoch, *counted;
	struct olaf_active *active;
	__u32 zero = 0;

	counted = bpf_map_lookup_elem(&olaf_active_epochs, &cluster);
	active = bpf_map_lookup_elem(&olaf_active, &zero);
	if (!counted || !active || !window || !olaf_lock(&active->lock))
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
	if (*counted != epoch) {
		active->current_clusters++;
		if (*counted + window == epoch && active->previous_clusters)
			active->previous_clusters--;
		*counted = epoch;
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
	__u64 *counted = bpf_map_lookup_elem(&olaf_active_epochs, &cluster), epoch;

	if (!counted)
		return;
	/* Unsigned: a stamp of the future reads as long ago. 0 is never, however short we are up. */
	epoch = READ_ONCE(*counted);
	if (!epoch || now - epoch >= olaf_cfg.activity_window_ns)
		olaf_count_active(cluster, now);
}

#endif /* OLAF_ACTIVITY_BPF_H */
