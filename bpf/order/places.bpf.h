/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The places of the ring: who leaves in which order.
 *
 * Map olaf_places: key 0, value ring_places x struct olaf_place. Writers: arrivals and the
 * drain, under the ring's lock. A place's state alone is given up outside it, atomically,
 * LEAVING -> FREE, by the departure that popped it.
 *
 * Who pops or appends holds the lock of the entry's slot too (taken first): an entry is
 * filled while its place already waits, and popping it waits for the filling.
 *
 * Turns: order holds for each next hop, though others pass an entry whose hop doesn't answer.
 * An entry takes a turn of its hop when it takes a place, and leaves when all before it have
 * left. All of it under the ring's lock; without it, the answers are hints.
 */
#ifndef OLAF_PLACES_BPF_H
#define OLAF_PLACES_BPF_H

#include "bpf/order/due.bpf.h"
#include "bpf/way/gate.bpf.h"
#include "bpf/way/hops.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct olaf_place)); /* x ring_places, set by the loader */
} olaf_places SEC(".maps");

/* The place of a position; NULL: no map. ring_places is a power of two. */
static __always_inline struct olaf_place *olaf_place_at(__u64 position)
{
	struct olaf_place *places;
	__u32 zero = 0;

	places = bpf_map_lookup_elem(&olaf_places, &zero);
	if (!places)
		return NULL;
	return &places[position & (olaf_cfg.ring_places - 1)];
}

/*
 * Only where next hops may differ. What is decided here stands in the place: after `attach
 * --replace` an entry may leave by programs of another way, and its turn must be served by them.
 */
static __always_inline void olaf_turn_take(struct olaf_place *place, __u32 index)
{
	struct olaf_hop *hop;

	place->hop = olaf_cfg.deliver == OLAF_DELIVER_FORWARD ? index : OLAF_NO_HOP;
	if (place->hop == OLAF_NO_HOP)
		return;
	hop = olaf_hop_at(place->hop);
	if (hop)
		place->turn = hop->issued++;
}

static __always_inline int olaf_turn_has_come(const struct olaf_place *place)
{
	struct olaf_hop *hop;

	if (place->hop == OLAF_NO_HOP)
		return 1;
	hop = olaf_hop_at(place->hop);
	return hop && hop->served == place->turn;
}

static __always_inline void olaf_turn_served(const struct olaf_place *place)
{
	struct olaf_hop *hop;

	if (place->hop == OLAF_NO_HOP)
		return;
	hop = olaf_hop_at(place->hop);
	if (hop)
		hop->served++;
}

/*
 * Pops the head, if it is still at `position`, of `slot`, due, no longer than `room`
 * bytes, and next in turn for its hop. Under the lock of its slot. With `hold` the drain stays
 * awake until olaf_ring_release(): the arrival that carries the departure may still append,
 * and then has no frame left to make a token of. `update` is what the head holds, if it is of
 * `slot`. Returns whether it was popped.
 */
static __always_inline int olaf_ring_pop(struct olaf_ring *ring, __u64 position, __u32 slot,
					 __u64 now, __u32 room, __u32 hold,
					 const struct olaf_pending *update)
{
	struct olaf_place *place = olaf_place_at(position);
	int popped;

	if (!place || !olaf_lock(&ring->lock))
		return 0;
	popped = ring->head == position && ring->head != ring->tail &&
		 place->state == OLAF_PLACE_WAITING && place->slot == slot &&
		 place->bytes <= room && olaf_turn_has_come(place) && olaf_is_due(ring, now) &&
		 olaf_gate_take(now);
	if (popped) {
		olaf_turn_served(place);
		olaf_due_take(ring, now, place->bytes, update);
		place->state = OLAF_PLACE_LEAVING;
		ring->head = position + 1;
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
	return popped;
}

/*
 * Takes a place at the tail for an update of `bytes`. Under the lock of its slot, whose
 * entry is filled before that lock is released. `entry` is the slot's buffer, or
 * OLAF_ENTRY_OF_PLACE; `hop` as in struct olaf_place. Returns the entry, or OLAF_NO_ENTRY:
 * Qmax places are taken, or there is no entry for fifo.
 */
#define OLAF_ENTRY_OF_PLACE 0xfffffffe
#define OLAF_NO_ENTRY 0xffffffff

/*
 * The entry of a position, for policies that don't fold; OLAF_NO_ENTRY: there is none. It is
 * also the entry of the position fifo_places before, which isn't in the ring any more but may
 * still be copied out.
 */
static __always_inline __u32 olaf_entry_of_place(__u64 position)
{
	struct olaf_place *before = olaf_place_at(position - olaf_cfg.fifo_places);
	__u32 entry;

	if (!olaf_cfg.fifo_places || !before)
		return OLAF_NO_ENTRY;
	entry = 2 * olaf_slots_configured() + ((__u32)position & (olaf_cfg.fifo_places - 1));
	return before->state != OLAF_PLACE_FREE && before->entry == entry ? OLAF_NO_ENTRY : entry;
}

static __always_inline __u32 olaf_ring_append(struct olaf_ring *ring, __u32 slot, __u32 entry,
					      __u32 bytes, __u32 hop, __u64 now,
					      struct olaf_claim *claim, __u64 *position)
{
	struct olaf_place *place;
	__u64 tail;

	if (!olaf_lock(&ring->lock))
		return OLAF_NO_ENTRY;
	tail = ring->tail;
	place = olaf_place_at(tail);
	if (!place || tail - ring->head >= olaf_cfg.queue_capacity ||
	    place->state != OLAF_PLACE_FREE)
		entry = OLAF_NO_ENTRY;
	else if (entry == OLAF_ENTRY_OF_PLACE)
		entry = olaf_entry_of_place(tail);
	if (entry != OLAF_NO_ENTRY) {
		place->state = OLAF_PLACE_WAITING;
		place->entry = entry;
		place->slot = slot;
		place->bytes = bytes;
		olaf_turn_take(place, hop);
		ring->tail = tail + 1;
		*position = tail;
		olaf_ring_wake(ring, now, !(claim->got & OLAF_GOT_DEPARTURE), claim);
	}
	olaf_unlock(&ring->lock);
	return entry;
}

/*
 * The head at `position`, of `slot`, can't leave, or isn't next in turn for its hop: it goes
 * behind the last, so that others may leave. Not so an entry that belongs to its place. Under
 * the lock of its slot. Returns its new position; `position`: it stays.
 */
static __always_inline __u64 olaf_ring_rotate(struct olaf_ring *ring, __u64 position, __u32 slot)
{
	struct olaf_place *from = olaf_place_at(position), *to;
	__u64 tail, moved = position;

	if (!from || !olaf_lock(&ring->lock))
		return position;
	tail = ring->tail;
	to = olaf_place_at(tail);
	if (to && ring->head == position && position != tail && to->state == OLAF_PLACE_FREE &&
	    from->state == OLAF_PLACE_WAITING && from->slot == slot &&
	    olaf_entry_is_buffer(from->entry)) {
		*to = *from;
		from->state = OLAF_PLACE_FREE;
		ring->tail = tail + 1;
		ring->head = position + 1;
		moved = tail;
	}
	olaf_unlock(&ring->lock);
	return moved;
}

#endif /* OLAF_PLACES_BPF_H */
