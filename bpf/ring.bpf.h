/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring: who leaves in which order, and when.
 *
 * Map olaf_ring (key 0) and map olaf_places (key 0, ring_places x struct olaf_place).
 * Writers: arrivals and the drain lane, under the ring's lock; two fields are outside:
 * `holds` is only changed atomically, and a place's state is changed by its one owner
 * when it goes RESERVED -> READY or VOID (the arrival that reserved it) and
 * LEAVING -> FREE (the departure that popped it). Reading head, tail and times without
 * the lock gives hints; every decision is taken under it.
 *
 * One visit, one lock: a departure that is due frees its place before the arrival asks
 * for one, and the order of visits is the order of the queue.
 */
#ifndef OLAF_RING_BPF_H
#define OLAF_RING_BPF_H

#include "slot.bpf.h"

/* The token is late when it hasn't come back this long after it should have. */
#define OLAF_TOKEN_GRACE_NS 20000000ULL
/* VOID places skipped in one visit; more wait for the next. */
#define OLAF_MAX_VOIDS 8

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

static __always_inline struct olaf_ring *olaf_the_ring(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_ring, &zero);
}

static __always_inline struct olaf_place *olaf_the_places(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_places, &zero);
}

/* ring_places is a power of two and a constant to the verifier: this is its bound. */
static __always_inline struct olaf_place *olaf_place_at(struct olaf_place *places, __u64 position)
{
	return &places[position & (olaf_cfg.ring_places - 1)];
}

/*
 * The head as a visit will find it, VOID places skipped; `tail` if nothing waits. A hint
 * taken without the lock: whoever looks only at ring->head would see a VOID place there,
 * find nothing to depart, not visit, and so leave it there for ever.
 */
static __always_inline __u64 olaf_first_waiting(struct olaf_place *places, __u64 head, __u64 tail)
{
	int i;

	for (i = 0; i < OLAF_MAX_VOIDS; i++) {
		struct olaf_place *place = olaf_place_at(places, head);

		if (head == tail || *(volatile __u32 *)&place->state != OLAF_PLACE_VOID)
			break;
		head++;
	}
	return head;
}

/* What a visit may bring; several at once. */
enum olaf_got {
	OLAF_GOT_PASSAGE = 0x1, /* nothing waits and the link is free: leave as you are */
	OLAF_GOT_DEPARTURE = 0x2, /* the head was popped: it leaves now */
	OLAF_GOT_PLACE = 0x4, /* a place at the tail is reserved */
	OLAF_GOT_FULL = 0x8, /* a place was wanted and there is none */
	OLAF_GOT_TOKEN = 0x10, /* launch a token of this generation */
	OLAF_GOT_HOLD = 0x20, /* popped without a place: the lane stays awake until released */
};

/* What a visit asks for, and what it got. */
struct olaf_visit {
	__u64 now;
	__u64 head; /* position that was looked at before the visit */
	__u64 place; /* GOT_PLACE: its position */
	__u32 head_bytes; /* size of the frame there, for the pacer */
	__u32 head_entry; /* GOT_DEPARTURE: its entry */
	__u32 frame_bytes; /* of the arrival, for the pacer */
	__u32 generation; /* GOT_TOKEN */
	__u8 may_depart; /* this frame can carry the head */
	__u8 may_pass;
	__u8 want_place;
	__u8 lane; /* the visitor is the drain lane: it holds a token and needs no other */
	__u32 got; /* enum olaf_got */
};

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
 * The visit. `slot` is the head's, looked up before, because no lookup may be made
 * under the lock; NULL if there was no head. v->got is what was brought.
 */
static __always_inline void olaf_visit_ring(struct olaf_ring *ring, struct olaf_place *places,
					    struct olaf_slot *slot, struct olaf_visit *v)
{
	struct olaf_place *place;
	__u32 got = 0;
	__u64 head;
	int due, i;

	bpf_spin_lock(&ring->lock);
	head = ring->head;
	for (i = 0; i < OLAF_MAX_VOIDS; i++) {
		place = olaf_place_at(places, head);
		if (head == ring->tail || place->state != OLAF_PLACE_VOID)
			break;
		place->state = OLAF_PLACE_FREE;
		head++;
	}
	ring->head = head;

	due = v->now >= ring->next_departure_ns;
	place = olaf_place_at(places, head);
	if (head == ring->tail) {
		if (v->may_pass && due) {
			olaf_pace(ring, v->now, v->frame_bytes);
			got = OLAF_GOT_PASSAGE;
		}
	} else if (due && v->may_depart && slot && head == v->head && !slot->inflight &&
		   place->state == OLAF_PLACE_READY) {
		olaf_pace(ring, v->now, v->head_bytes);
		place->state = OLAF_PLACE_LEAVING;
		slot->inflight = 1;
		v->head_entry = place->entry;
		ring->head = ++head;
		got = OLAF_GOT_DEPARTURE;
		if (!v->want_place && !v->lane) {
			/* It may still need a place, and its frame can't be a token. */
			__sync_fetch_and_add(&ring->holds, 1);
			got |= OLAF_GOT_HOLD;
		}
	}

	if (v->want_place && !(got & OLAF_GOT_PASSAGE)) {
		place = olaf_place_at(places, ring->tail);
		if (ring->tail - head < olaf_cfg.queue_capacity && place->state == OLAF_PLACE_FREE) {
			place->state = OLAF_PLACE_RESERVED;
			v->place = ring->tail++;
			got |= OLAF_GOT_PLACE;
		} else {
			got |= OLAF_GOT_FULL;
		}
	}

	/* What waits needs a token under way, unless this frame leaves as something else. */
	if (head != ring->tail && v->now > ring->lane_deadline_ns && !v->lane &&
	    !((got | v->got) & OLAF_GOT_DEPARTURE)) {
		ring->lane_deadline_ns = v->now + OLAF_TOKEN_GRACE_NS;
		v->generation = ++ring->lane_generation;
		got |= OLAF_GOT_TOKEN;
	}
	bpf_spin_unlock(&ring->lock);
	v->got |= got;
}

/* The arrival that reserved a place says what became of it. */
static __always_inline void olaf_place_publish(struct olaf_place *place, __u32 entry, __u32 state)
{
	place->entry = entry;
	/* A full barrier: whoever sees READY sees the entry's index. */
	__sync_lock_test_and_set(&place->state, state);
}

/* The arrival that popped without a place has been judged. */
static __always_inline void olaf_hold_release(void)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (ring)
		__sync_fetch_and_add(&ring->holds, -1);
}

#endif /* OLAF_RING_BPF_H */
