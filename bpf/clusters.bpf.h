/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is known of each cluster: its rule, and whether it is active.
 *
 * Map olaf_rules: key cluster, value struct olaf_rule. Writer: user space only
 * (`olaf cluster`); each field is read on its own, so a change takes effect field by
 * field, between two updates of a packet at the latest.
 *
 * Maps olaf_activity (key cluster) and olaf_active (key 0): writers are our XDP
 * programs, under olaf_active's lock; the first look at olaf_activity is without it,
 * so that only the first update of a cluster in an epoch takes the lock.
 */
#ifndef OLAF_CLUSTERS_BPF_H
#define OLAF_CLUSTERS_BPF_H

#include "config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_rule);
} olaf_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_activity);
} olaf_activity SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_active);
} olaf_active SEC(".maps");

static __always_inline struct olaf_rule *olaf_rule_of(__u32 cluster)
{
	return bpf_map_lookup_elem(&olaf_rules, &cluster);
}

/*
 * Counts the cluster as active, once an epoch (an epoch is one activity window).
 * A cluster seen in the epoch before moves from that epoch's count to this one's.
 */
static __always_inline void olaf_mark_active(__u32 cluster, __u64 now)
{
	__u64 window = olaf_cfg.activity_window_ns;
	struct olaf_activity *activity;
	struct olaf_active *active;
	__u32 zero = 0;
	__u64 epoch;

	activity = bpf_map_lookup_elem(&olaf_activity, &cluster);
	if (!activity || !window)
		return;
	/* Unsigned: a stamp of the future reads as long ago. 0 is never, however short we are up. */
	if (activity->epoch_start_ns && now - activity->epoch_start_ns < window)
		return;
	active = bpf_map_lookup_elem(&olaf_active, &zero);
	if (!active)
		return;

	epoch = now - now % window + 1; /* the first is not "never" */
	bpf_spin_lock(&active->lock);
	if (epoch > active->epoch_start_ns) {
		active->previous_clusters =
			epoch == active->epoch_start_ns + window ? active->current_clusters : 0;
		active->current_clusters = 0;
		active->epoch_start_ns = epoch;
	}
	/* A CPU that was slow to get here must not put the epoch back. */
	epoch = active->epoch_start_ns;
	if (activity->epoch_start_ns != epoch) {
		active->current_clusters++;
		if (activity->epoch_start_ns + window == epoch && active->previous_clusters)
			active->previous_clusters--;
		activity->epoch_start_ns = epoch;
	}
	bpf_spin_unlock(&active->lock);
}

#endif /* OLAF_CLUSTERS_BPF_H */
