/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A departure: from the head of the ring to a finished frame in its entry.
 *
 *   olaf_look_at_head   before the visit: who is first, how large, can it go?
 *   (olaf_visit_ring)   pops it: the place is LEAVING
 *   olaf_close          closes it to folding, counts it: the entry is ours
 *   olaf_take_leave     writes its headers
 *   (the caller)        copies the frame out
 *   olaf_vacate         frees buffer, slot and place
 *
 * The same for a departure that rides on an arriving frame and for one of the lane.
 */
#ifndef OLAF_DEPARTURE_BPF_H
#define OLAF_DEPARTURE_BPF_H

#include "counters.bpf.h"
#include "headers.bpf.h"
#include "ring.bpf.h"

/* The head as seen without a lock: a hint that the visit checks. */
struct olaf_head {
	struct olaf_slot *slot; /* NULL: nothing can leave now */
	__u32 entry; /* its index */
	__u32 bytes; /* of its frame */
	__u32 hop; /* enum olaf_hop_state; RESOLVED also when no hop is needed */
};

/* A frame that is ready to be copied out. */
struct olaf_frame_out {
	struct olaf_entry *entry;
	struct olaf_slot *slot;
	__u32 header_bytes;
	__u32 bytes;
	__u32 routed; /* bool */
	__u32 hop; /* enum olaf_hop_state at the time of leaving */
	__u32 family; /* 4 or 6 */
};

static __always_inline void olaf_look_at_head(void *ctx, struct olaf_place *places, __u64 position,
					      __u64 now, struct olaf_head *head)
{
	struct olaf_place *place = olaf_place_at(places, position);
	struct olaf_entry *entry;
	struct olaf_slot *slot;

	head->slot = NULL;
	head->hop = OLAF_HOP_RESOLVED;
	if (*(volatile __u32 *)&place->state != OLAF_PLACE_READY)
		return;
	head->entry = place->entry;
	entry = olaf_entry_at(head->entry);
	if (!entry)
		return;
	slot = olaf_slot_at(entry->pending.slot);
	if (!slot)
		return;
	head->slot = slot;
	head->bytes = entry->pending.header_bytes + sizeof(struct olaf_header) +
		      8 * entry->pending.lanes;
	if (olaf_needs_hop(entry->pending.routed)) {
		struct olaf_nexthop hop;
		__be32 daddr_be[4];

		olaf_destination(daddr_be, entry, &entry->pending);
		olaf_hop_of(ctx, slot, daddr_be, olaf_outer_family(&entry->pending), now, &hop);
		head->hop = hop.state;
	}
}

/*
 * From here on arrivals of its cluster start a new entry, the one whose frame it leaves
 * in among them: a departure comes before the arrival that carries it is judged.
 */
static __always_inline void olaf_close(struct olaf_slot *slot, __u32 index, int riding)
{
	struct olaf_entry *entry = olaf_entry_at(index);

	if (!entry)
		return;
	bpf_spin_lock(&slot->lock);
	if (olaf_entry_is_buffer(index) && slot->open == 1 + (index & 1))
		slot->open = 0;
	if (riding)
		slot->counters.departed_riding++;
	else
		slot->counters.departed_drain++;
	slot->counters.updates_departed += entry->pending.count;
	bpf_spin_unlock(&slot->lock);
}

/* Makes the closed entry a finished frame. Returns 0, or -1 if a map is missing. */
static __always_inline int olaf_take_leave(void *ctx, __u32 index, __u64 now,
					   struct olaf_frame_out *out)
{
	struct olaf_entry *entry = olaf_entry_at(index);
	struct olaf_pending update;
	struct olaf_nexthop hop = {};
	struct olaf_slot *slot;

	if (!entry)
		return -1;
	slot = olaf_slot_at(entry->pending.slot);
	if (!slot)
		return -1;

	update = entry->pending; /* closed: nobody else writes it, no lock */
	if (olaf_needs_hop(update.routed)) {
		__be32 daddr_be[4];

		olaf_destination(daddr_be, entry, &update);
		olaf_hop_of(ctx, slot, daddr_be, olaf_outer_family(&update), now, &hop);
	} else {
		hop.state = OLAF_HOP_RESOLVED;
	}
	olaf_message_write(&entry->message, &update);
	out->entry = entry;
	out->slot = slot;
	out->header_bytes = olaf_dress(entry, &update, &hop);
	out->bytes = out->header_bytes + sizeof(struct olaf_header) + 8 * update.lanes;
	out->routed = olaf_needs_hop(update.routed);
	out->hop = hop.state;
	out->family = olaf_outer_family(&update);
	return 0;
}

/* It left after all as nothing: no frame could carry it. Its updates are dropped ones. */
static __always_inline void olaf_mourn(struct olaf_frame_out *out)
{
	__u32 count = bpf_ntohl(out->entry->message.count_be);

	bpf_spin_lock(&out->slot->lock);
	out->slot->counters.updates_departed -= count;
	out->slot->counters.updates_dropped += count;
	bpf_spin_unlock(&out->slot->lock);
	olaf_count(departures_unfit);
}

/* The copy is done. The order matters: the place is free last, so a reader of it finds all free. */
static __always_inline void olaf_vacate(struct olaf_place *place, struct olaf_slot *slot,
					__u32 index)
{
	olaf_slot_release(slot, index);
	__sync_lock_test_and_set(&place->state, OLAF_PLACE_FREE);
}

#endif /* OLAF_DEPARTURE_BPF_H */
