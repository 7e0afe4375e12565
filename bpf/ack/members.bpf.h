/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_members: the workers of each cluster.
 *
 * Key: olaf_member_index(). Value struct olaf_member. It never grows: ids of
 * max_workers and above have no place. Writers: XDP, from the updates that arrive, and
 * olaf_enrol, for user space; in the order that member.bpf.h has.
 *
 * Map olaf_rosters: key cluster, value struct olaf_roster. `end` is raised by
 * compare-and-swap by whoever fills a place, and lowered only by olaf_enrol, when it
 * forgets a cluster. `admitted` is counted up by compare-and-swap by whoever is about to
 * fill a place with somebody new. Who loses against others too often leaves it.
 */
#ifndef OLAF_MEMBERS_BPF_H
#define OLAF_MEMBERS_BPF_H

#include "bpf/ack/member.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters x max_workers, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_member);
} olaf_members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_roster);
} olaf_rosters SEC(".maps");

/* The place of a worker; NULL: it has none. */
static __always_inline struct olaf_member *olaf_member_at(__u32 cluster, __u32 worker)
{
	__u32 index = olaf_member_index(cluster, worker, olaf_cfg.max_clusters);

	if (cluster >= olaf_cfg.max_clusters || worker >= olaf_cfg.max_workers)
		return NULL;
	return bpf_map_lookup_elem(&olaf_members, &index);
}

/* Places of a cluster that may be taken: below this. */
static __always_inline __u32 olaf_roster_end(__u32 cluster)
{
	struct olaf_roster *roster = bpf_map_lookup_elem(&olaf_rosters, &cluster);

	return roster ? READ_ONCE(roster->end) : 0;
}

static __always_inline void olaf_roster_raise(__u32 cluster, __u32 worker)
{
	struct olaf_roster *roster = bpf_map_lookup_elem(&olaf_rosters, &cluster);
	__u32 end, i;

	if (!roster)
		return;
	for (i = 0; i < OLAF_MEMBER_LOOKS; i++) {
		end = READ_ONCE(roster->end);
		if (end > worker ||
		    __sync_val_compare_and_swap(&roster->end, end, worker + 1) == end)
			return;
	}
}

/*
 * May the cluster gain a member this second? Counts it if so. A second never turns back:
 * a CPU whose clock is behind counts in the one that others have begun.
 */
static __always_inline int olaf_roster_admits(__u32 cluster, __u64 now)
{
	struct olaf_roster *roster = bpf_map_lookup_elem(&olaf_rosters, &cluster);
	__u64 second = now >> OLAF_ADMISSION_SHIFT << 32, seen, next;
	__u32 i;

	if (!roster)
		return 0;
	for (i = 0; i < OLAF_MEMBER_LOOKS; i++) {
		seen = READ_ONCE(roster->admitted);
		next = (seen >> 32 << 32 >= second ? seen : second) + 1;
		if ((__u32)next > OLAF_MOST_ADMISSIONS)
			return 0;
		if (__sync_val_compare_and_swap(&roster->admitted, seen, next) == seen)
			return 1;
	}
	return 0;
}

#endif /* OLAF_MEMBERS_BPF_H */
