/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring: who leaves in which order, and when.
 *
 * Map olaf_ring (key 0) and map olaf_places (key 0, ring_places x struct olaf_place).
 * Writers: arrivals and the drain lane, under the ring's lock. Two fields are given up
 * outside it, atomically: `holds` by the arrival that took one, and a place's state,
 * LEAVING -> FREE, by the departure that popped it. Reading without the lock gives
 * hints; every decision is taken under it, and the order of the lock is the order of
 * the queue.
 *
 * Who pops or appends holds the lock of the entry's slot too (taken first): an entry is
 * filled while its place already waits, and popping it waits for the filling.
 */
#ifndef OLAF_RING_BPF_H
#define OLAF_RING_BPF_H

#include "bpf/way/gate.bpf.h"
#include "bpf/slots/slot.bpf.h"
#include "bpf/order/turns.bpf.h"
#include "bpf/order/token_turn.bpf.h"
#include "bpf/order/window.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_ring);
} olaf_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct olaf_place)); /* x ring_places, set by the loader */
} olaf_places SEC(".maps");

/* What an arrival, or a tick of the lane, has got of the ring. */
enum olaf_got {
	OLAF_GOT_PASSAGE = 0x1, /* nothing waits and the link is free: leave as you are */
	OLAF_GOT_DEPARTURE = 0x2, /* the head was popped: it leaves now */
	OLAF_GOT_TOKEN = 0x4, /* launch a token of this generation */
	OLAF_GOT_WAY_ON = 0x8, /* the queue is being emptied, and the frame can leave as it is */
};

struct olaf_claim {
	__u32 got; /* enum olaf_got */
	__u32 entry; /* DEPARTURE: its entry */
	__u32 slot; /* DEPARTURE: its slot */
	__u32 generation; /* TOKEN */
	__u64 position; /* DEPARTURE: its place */
};

static __always_inline struct olaf_ring *olaf_the_ring(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_ring, &zero);
}

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

/* Hints, read without the lock. */
static __always_inline int olaf_ring_waits(struct olaf_ring *ring)
{
	return *(volatile __u64 *)&ring->head != *(volatile __u64 *)&ring->tail;
}

static __always_inline int olaf_ring_due(struct olaf_ring *ring, __u64 now)
{
	return now >= *(volatile __u64 *)&ring->next_departure_ns && olaf_window_may_open(now);
}

static __always_inline int olaf_token_late(struct olaf_ring *ring, __u64 now)
{
	return now > *(volatile __u64 *)&ring->lane_deadline_ns;
}

/*
 * Takes `bytes` from the link's time. A departure starts no earlier than the one
 * before it plus its serialisation time; an idle link saves credit for one frame or
 * one drain interval, whichever is longer. Under the ring's lock.
 */
static __always_inline void olaf_pace(struct olaf_ring *ring, __u64 now, __u32 bytes)
{
	__u64 serialisation, credit, start;

	if (!olaf_cfg.ns_per_byte_q24)
		return;
	serialisation = ((bytes + olaf_cfg.frame_overhead) * olaf_cfg.ns_per_byte_q24) >> 24;
	credit = olaf_cfg.drain_interval_ns;
	if (credit < serialisation)
		credit = serialisation;
	start = ring->next_departure_ns;
	if (start + credit < now)
		start = now - credit;
	ring->next_departure_ns = start + serialisation;
}

/*
 * Nothing waits, the link is free and the window open: `update`, of `bytes`, may pass by
 * the queue. Returns whether so.
 */
static __always_inline int olaf_ring_pass(struct olaf_ring *ring, __u64 now, __u32 bytes,
					  const struct olaf_pending *update)
{
	int passes;

	if (!olaf_lock(&ring->lock))
		return 0;
	passes = ring->head == ring->tail && now >= ring->next_departure_ns &&
		 olaf_window_opens(now);
	if (passes) {
		olaf_pace(ring, now, bytes);
		olaf_window_depart(update, now);
	}
	olaf_unlock(&ring->lock);
	return passes;
}

/*
 * Pops the head, if it is still at `position`, of `slot`, due, no longer than `room`
 * bytes, and next in turn for its hop. Under the lock of its slot. With `hold` the lane stays awake until
 * olaf_ring_release(): the arrival that carries the departure may still append, and then
 * has no frame left to make a token of. `update` is what the head holds, if it is of
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
		 now >= ring->next_departure_ns && place->state == OLAF_PLACE_WAITING &&
		 place->slot == slot && place->bytes <= room && olaf_turn_has_come(place) &&
		 olaf_window_opens(now) && olaf_gate_take(now);
	if (popped) {
		olaf_turn_served(place);
		olaf_pace(ring, now, place->bytes);
		olaf_window_depart(update, now);
		place->state = OLAF_PLACE_LEAVING;
		ring->head = position + 1;
		if (hold)
			__sync_fetch_and_add(&ring->holds, 1);
	}
	olaf_unlock(&ring->lock);
	return popped;
}

static __always_inline void olaf_ring_release(struct olaf_ring *ring)
{
	__sync_fetch_and_add(&ring->holds, -1);
}

/*
 * A token, if what waits has none under way. Under the ring's lock. `free`: the frame
 * at hand can become one.
 */
static __always_inline void olaf_ring_wake(struct olaf_ring *ring, __u64 now, __u32 free,
					   struct olaf_claim *claim)
{
	if (!free || now <= ring->lane_deadline_ns)
		return;
	ring->lane_deadline_ns = olaf_token_deadline(now, OLAF_TOKEN_LONGEST_WAIT);
	if (++ring->lane_generation == OLAF_PROOF)
		ring->lane_generation = OLAF_KICK + 1;
	claim->generation = ring->lane_generation;
	claim->got |= OLAF_GOT_TOKEN;
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

/* What waits has been waiting for a token too long: perhaps this frame can be one. */
static __always_inline void olaf_ring_revive(struct olaf_ring *ring, __u64 now,
					     struct olaf_claim *claim)
{
	if (!olaf_lock(&ring->lock))
		return;
	if (ring->head != ring->tail)
		olaf_ring_wake(ring, now, !(claim->got & OLAF_GOT_DEPARTURE), claim);
	olaf_unlock(&ring->lock);
}

#endif /* OLAF_RING_BPF_H */
