/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_slots: the state of each (cluster, segment).
 *
 * Key: cluster x max_segments + segment. Value struct olaf_slot. Writers: arrivals of
 * that cluster and departures of its entries, under the slot's lock. Outside it, and
 * atomically: a buffer that is LEAVING is set free by its departure when the copy is
 * done; passed_through and updates_passed are added to.
 *
 * The buffers of a slot, each with a state of its own (enum olaf_buffer_state):
 *
 *   FREE --open--> OPEN --seal--> SEALED --pop--> LEAVING --copied--> FREE
 *                    |                              ^
 *                    +-------------pop--------------+
 *
 * A buffer has a place in the ring from the moment on that it is opened.
 *
 * All steps but the one out of LEAVING are taken under the slot's lock. That one is the
 * departer's, without it: until then a buffer that leaves belongs to one CPU alone. Who needs two
 * answers of one moment reads the states once.
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

/* What olaf_buffer_free() says if there is none. */
#define OLAF_NO_BUFFER OLAF_BUFFERS

/*
 * Entry of a slot's buffer. First buffers lie together and second ones behind them: most
 * of the time only first ones are in use, and with many clusters that halves the pages
 * (and the TLB misses) of what is.
 */
static __always_inline __u32 olaf_entry_of(__u32 slot, __u32 buffer)
{
	return buffer ? olaf_slots_configured() + slot : slot;
}

/* Which buffer of its slot an entry is; OLAF_BUFFER_OF_PLACE: none, it belongs to a place. */
static __always_inline __u32 olaf_buffer_of(__u32 entry)
{
	if (!olaf_entry_is_buffer(entry))
		return OLAF_BUFFER_OF_PLACE;
	return entry >= olaf_slots_configured();
}

static __always_inline __u32 olaf_buffer_state(const struct olaf_slot *slot, __u32 buffer)
{
	return READ_ONCE(slot->buffers[buffer]);
}

static __always_inline int olaf_buffer_is_open(const struct olaf_slot *slot, __u32 buffer)
{
	return olaf_buffer_state(slot, buffer) == OLAF_BUFFER_OPEN;
}

/* Is there something that an arrival may be merged into? */
static __always_inline int olaf_slot_gathers(const struct olaf_slot *slot)
{
	return olaf_buffer_is_open(slot, 0) || olaf_buffer_is_open(slot, 1);
}

/* A buffer that an update can be put into, or OLAF_NO_BUFFER. Under the slot's lock. */
static __always_inline __u32 olaf_buffer_free(const struct olaf_slot *slot)
{
	if (olaf_buffer_state(slot, 0) == OLAF_BUFFER_FREE)
		return 0;
	return olaf_buffer_state(slot, 1) == OLAF_BUFFER_FREE ? 1 : OLAF_NO_BUFFER;
}

/* Is a departure of the slot being copied out? There is one at a time. */
static __always_inline int olaf_slot_is_leaving(const struct olaf_slot *slot)
{
	return olaf_buffer_state(slot, 0) == OLAF_BUFFER_LEAVING ||
	       olaf_buffer_state(slot, 1) == OLAF_BUFFER_LEAVING ||
	       olaf_buffer_state(slot, OLAF_BUFFER_OF_PLACE) == OLAF_BUFFER_LEAVING;
}

#endif /* OLAF_SLOT_BPF_H */
