/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_slots: the state of each (cluster, segment).
 *
 * Key: cluster x max_segments + segment. Value struct olaf_slot. Writers: arrivals of
 * that cluster and departures of its entries, under the slot's lock. Outside it, and
 * atomically: a buffer that is LEAVING is set free by its departure when the copy is
 * done; passed_through and updates_passed are added to.
 */
#ifndef OLAF_SLOT_BPF_H
#define OLAF_SLOT_BPF_H

#include "bpf/lock.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters x max_segments, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_slot);
} olaf_slots SEC(".maps");

static __always_inline struct olaf_slot *olaf_slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&olaf_slots, &index);
}

/* An update that left as it came: counted without the lock. */
static __always_inline void olaf_slot_passed(struct olaf_slot *slot, __u32 updates)
{
	__sync_fetch_and_add(&slot->counters.passed_through, 1);
	__sync_fetch_and_add(&slot->counters.updates_passed, updates);
}

#endif /* OLAF_SLOT_BPF_H */
