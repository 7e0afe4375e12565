/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_slots: the state of each (cluster, segment).
 *
 * Key: cluster x max_segments + segment. Value struct olaf_slot. Writers: arrivals of
 * that cluster and departures of its entries, under the slot's lock. Outside it:
 * `inflight` is set under the ring's lock (so at most one departure of a slot is being
 * copied) and, like busy[], cleared by that departure when the copy is done;
 * passed_through and updates_passed are only ever added to atomically.
 *
 * The lock order is: none. No program holds two locks at once.
 */
#ifndef OLAF_SLOT_BPF_H
#define OLAF_SLOT_BPF_H

#include "config.bpf.h"

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

/* Does this entry belong to a slot's buffer, and not to a place of the ring? */
static __always_inline int olaf_entry_is_buffer(__u32 entry)
{
	return entry < 2 * olaf_slots_configured();
}

/* An update that left as it came: counted without the lock. */
static __always_inline void olaf_slot_passed(struct olaf_slot *slot, __u32 updates)
{
	__sync_fetch_and_add(&slot->counters.passed_through, 1);
	__sync_fetch_and_add(&slot->counters.updates_passed, updates);
}

/* The departing copy is done: its buffer and its slot are free for the next. */
static __always_inline void olaf_slot_release(struct olaf_slot *slot, __u32 entry)
{
	/* A full barrier: what was read from the buffer was read before it is free. */
	if (olaf_entry_is_buffer(entry))
		__sync_lock_test_and_set(&slot->busy[entry & 1], 0);
	__sync_lock_test_and_set(&slot->inflight, 0);
}

#endif /* OLAF_SLOT_BPF_H */
