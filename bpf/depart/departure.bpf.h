/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A departure: from the head of the ring to a finished frame in its entry.
 *
 *   olaf_way_is_there (wayout.bpf.h) comes first: nothing is popped that can't leave
 *   olaf_pop          takes the head out of the ring and closes its entry to folding
 *   olaf_take_leave   writes the entry's headers: the frame is finished
 *   (the caller)      copies the frame out
 *   olaf_vacate       frees the place and the buffer
 *
 * The same for a departure that rides on an arriving frame and for one of the drain.
 * Between pop and vacate the entry belongs to this CPU alone, and no lock is held.
 */
#ifndef OLAF_DEPARTURE_BPF_H
#define OLAF_DEPARTURE_BPF_H

#include "bpf/depart/headers.bpf.h"
#include "bpf/order/places.bpf.h"
#include "bpf/slots/slot.bpf.h"
#include "bpf/troubles.bpf.h"

/* A frame that is ready to be copied out. */
struct olaf_frame_out {
	struct olaf_entry *entry;
	__u32 header_bytes;
	__u32 bytes;
};

/*
 * Pops the head that was seen at `position`, if it is due and fits into `room` bytes,
 * and closes it: from here on arrivals of its cluster, the one whose frame it leaves in
 * among them, start a new entry. One departure of a slot at a time: a second buffer
 * waits for the first one's copy. Returns whether *claim got a departure.
 */
static __always_inline int olaf_pop(struct olaf_ring *ring, __u64 position, __u64 now, __u32 room,
				    __u32 riding, struct olaf_claim *claim)
{
	struct olaf_place *place = olaf_place_at(position);
	struct olaf_entry *entry;
	struct olaf_slot *slot;
	__u32 index, popped;

	if (!place)
		return 0;
	claim->slot = READ_ONCE(place->slot);
	slot = olaf_slot_at(claim->slot);
	if (!slot || !olaf_lock(&slot->lock))
		return 0;
	index = READ_ONCE(place->entry);
	entry = olaf_entry_at(index);
	popped = entry && !olaf_slot_is_leaving(slot) &&
		 olaf_ring_pop(ring, position, claim->slot, now, room, riding, &entry->pending);
	if (popped) {
		slot->buffers[olaf_buffer_of(index)] = OLAF_BUFFER_LEAVING;
		if (riding)
			slot->counters.departed_riding++;
		else
			slot->counters.departed_drain++;
		slot->counters.updates_departed += entry->pending.count;
		claim->entry = index;
		claim->position = position;
		claim->got |= OLAF_GOT_DEPARTURE;
	}
	olaf_unlock(&slot->lock);
	return popped;
}

/* Moves the head at `position` behind the last. Returns whether it moved. */
static __always_inline int olaf_rotate(struct olaf_ring *ring, __u64 position)
{
	struct olaf_place *place = olaf_place_at(position);
	struct olaf_slot *slot;
	__u64 moved = position;
	__u32 index;

	/* With one next hop, or none, everything that waits is as blocked as the head. */
	if (olaf_cfg.deliver != OLAF_DELIVER_FORWARD || !place)
		return 0;
	index = READ_ONCE(place->slot);
	slot = olaf_slot_at(index);
	if (!slot || !olaf_lock(&slot->lock))
		return 0;
	moved = olaf_ring_rotate(ring, position, index);
	if (moved != position) {
		place = olaf_place_at(moved);
		if (place)
			slot->position[olaf_buffer_of(place->entry) & 1] = moved;
	}
	olaf_unlock(&slot->lock);
	return moved != position;
}

/* olaf_udp_finish() of a popped entry. A global function: its registers would lie on the drain's stack. */
__noinline int olaf_departure_sum(__u32 index, __u32 header_bytes)
{
	struct olaf_entry *entry = olaf_entry_at(index);

	if (entry)
		olaf_udp_finish(entry, header_bytes, &entry->pending);
	return 0;
}

/*
 * Makes the popped entry a finished frame; `next` is its next hop, where it needs one. Returns
 * 0, or -1 if a map is missing.
 */
static __always_inline int olaf_take_leave(const struct olaf_claim *claim,
					   const struct olaf_nexthop *next,
					   struct olaf_frame_out *out)
{
	struct olaf_entry *entry = olaf_entry_at(claim->entry);
	struct olaf_pending *update;

	if (!entry)
		return -1;
	update = &entry->pending;
	olaf_message_write(&entry->message, update);
	out->entry = entry;
	out->header_bytes = olaf_headers_renew(entry, update, next);
	olaf_departure_sum(claim->entry, out->header_bytes);
	out->bytes = out->header_bytes + sizeof(struct olaf_header) + 8 * update->lanes;
	return 0;
}

/* No frame could carry the popped entry after all: its updates were not sent, but dropped. */
static __always_inline void olaf_count_unfit(const struct olaf_claim *claim, __u64 now)
{
	struct olaf_entry *entry = olaf_entry_at(claim->entry);
	struct olaf_slot *slot = olaf_slot_at(claim->slot);

	olaf_trouble_unfit(now);
	if (!entry || !slot)
		return;
	if (!olaf_lock(&slot->lock))
		return;
	slot->counters.updates_departed -= entry->pending.count;
	slot->counters.updates_dropped += entry->pending.count;
	olaf_unlock(&slot->lock);
}

/* The copy is done. All reads of the entry come before the stores that free buffer and place. */
static __always_inline void olaf_vacate(const struct olaf_claim *claim)
{
	struct olaf_place *place = olaf_place_at(claim->position);
	struct olaf_slot *slot = olaf_slot_at(claim->slot);

	if (slot)
		olaf_release(&slot->buffers[olaf_buffer_of(claim->entry)]);
	if (place)
		olaf_release(&place->state);
}

#endif /* OLAF_DEPARTURE_BPF_H */
