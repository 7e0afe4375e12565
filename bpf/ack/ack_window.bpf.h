/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an ACK does to the window: it ends its flight, and sets off what is due now.
 *
 * An ACK is of a flight if it echoes cluster, sequence and generated_ns of what departed,
 * is for that worker or for every one, and has its segment. (Where weights are cut into
 * other segments than gradients, which the counts of segments tell, any of the update's.)
 * The oldest such flight that is open is the one. It also releases older ones of its
 * (cluster, segment): those updates went the same way before it, so they were processed,
 * folded into it by a queue behind this one, or lost, and at most one of their ACKs is
 * still to come. That one, late, releases nothing.
 *
 * The search is without a lock, so that ACKs of no flight cost arrivals nothing; what it
 * finds is looked at again under the ring's.
 */
#ifndef OLAF_ACK_WINDOW_BPF_H
#define OLAF_ACK_WINDOW_BPF_H

#include "bpf/ack/ack.bpf.h"
#include "bpf/depart/token.bpf.h"
#include "bpf/order/due.bpf.h"

/*
 * The shortest departure. The kernel lets no clone of an ACK be cut shorter than to its UDP
 * header: one whose own begins behind this kicks nobody.
 */
#define OLAF_KICK_MOST_L4_OFFSET (OLAF_MIN_HEADERS + sizeof(struct olaf_header) + 8)

/* A flight that is sought, and where. */
struct olaf_search {
	__u64 position; /* looked at next; the flight's, once found */
	__u64 sibling; /* first open one of the same (cluster, segment) on the way */
	__u64 generated_ns;
	__u32 cluster;
	__u32 worker;
	__u32 sequence;
	__u16 segment;
	__u16 segments;
	__u32 late; /* those already released or given up are sought */
	__u32 found;
	__u32 siblings; /* there is one */
	__u32 pad;
};

static __always_inline int olaf_flight_is_sibling(const struct olaf_flight *flight,
						  const struct olaf_search *search)
{
	return flight->state == OLAF_FLIGHT_OPEN && flight->cluster == search->cluster &&
	       flight->segment == search->segment;
}

/* Is the ACK that flight's? */
static __always_inline int olaf_flight_is(const struct olaf_flight *flight,
					  const struct olaf_search *search)
{
	if (flight->state != OLAF_FLIGHT_OPEN &&
	    !(search->late && flight->state == OLAF_FLIGHT_RELEASED))
		return 0;
	return flight->generated_ns == search->generated_ns &&
	       flight->sequence == search->sequence && flight->cluster == search->cluster &&
	       (flight->segment == search->segment || flight->segments != search->segments) &&
	       (flight->worker == search->worker || search->worker == OLAF_EVERY_WORKER);
}

static long olaf_search_step(__u32 round, struct olaf_search *search)
{
	struct olaf_flight *flight = olaf_flight_at(search->position);

	(void)round;
	if (!flight)
		return 1;
	if (olaf_flight_is(flight, search)) {
		search->found = 1;
		return 1;
	}
	if (!search->siblings && olaf_flight_is_sibling(flight, search)) {
		search->siblings = 1;
		search->sibling = search->position;
	}
	search->position++;
	return 0;
}

static __always_inline void olaf_search_between(struct olaf_search *search, __u64 from, __u64 to)
{
	search->position = from;
	search->siblings = 0;
	bpf_loop(to - from < OLAF_FLIGHTS ? to - from : OLAF_FLIGHTS, olaf_search_step, search, 0);
}

static __always_inline void olaf_search_flight(struct olaf_search *search,
					       struct olaf_window *window)
{
	__u64 oldest = READ_ONCE(window->oldest);
	__u64 next = READ_ONCE(window->next);

	olaf_search_between(search, oldest, next);
	if (search->found)
		return;
	search->late = 1;
	olaf_search_between(search, next - OLAF_FLIGHTS, next);
}

static long olaf_release_step(__u32 round, struct olaf_search *search)
{
	struct olaf_window *window = olaf_the_window();
	struct olaf_flight *flight = olaf_flight_at(search->sibling);

	(void)round;
	if (!window || !flight)
		return 1;
	if (olaf_flight_is_sibling(flight, search)) {
		flight->state = OLAF_FLIGHT_RELEASED;
		window->in_flight--;
		window->released++;
	}
	search->sibling++;
	return 0;
}

/* Older open flights of the same (cluster, segment) than the one found. Under the ring's lock. */
static __always_inline void olaf_release_siblings(struct olaf_search *search, __u64 oldest)
{
	__u64 older = search->position - oldest;

	if (!search->siblings)
		return;
	/* What was given up meanwhile is not in flight any more. */
	if (search->position - search->sibling < older)
		older = search->position - search->sibling;
	search->sibling = search->position - older;
	bpf_loop(older < OLAF_FLIGHTS ? older : OLAF_FLIGHTS, olaf_release_step, search, 0);
}

/*
 * The flight found is answered. Under the ring's lock. Returns whether something that waits
 * is due now; -1: it isn't that ACK's flight any more.
 */
static __always_inline int olaf_window_answer(struct olaf_ring *ring, struct olaf_window *window,
					      struct olaf_search *search)
{
	struct olaf_flight *flight = olaf_flight_at(search->position);
	__u64 now = bpf_ktime_get_ns();
	int waits = ring->head != ring->tail;

	/*
	 * Positions are used again: it must still be the one that was found. But meanwhile a
	 * later one's ACK may have released it.
	 */
	search->late = 1;
	if (!flight || window->next - search->position > OLAF_FLIGHTS ||
	    !olaf_flight_is(flight, search))
		return -1;
	if (search->position - window->oldest < window->next - window->oldest &&
	    flight->state == OLAF_FLIGHT_OPEN) {
		window->in_flight--;
		window->acked++;
		olaf_release_siblings(search, window->oldest);
		if (olaf_cfg.flags & OLAF_CONFIG_WINDOW_AUTO)
			olaf_pilot_acked(&window->pilot, search->position, window->next, now, waits,
					 olaf_cfg.window);
	} else {
		window->late++;
	}
	flight->state = OLAF_FLIGHT_ACKED;
	window->answered_ns = now;
	window->silent = 0;
	window->rtt.backoff = 0;
	olaf_rtt_sample(&window->rtt, now > flight->departed_ns ? now - flight->departed_ns : 0);
	olaf_window_advance(now);
	return waits && olaf_window_has_room(window, now) && now >= ring->next_departure_ns;
}

/*
 * Sends a clone of the ACK into the drain's far end with a token's bytes in place of its
 * own: they make it IPv4 to the kernel (token.bpf.h). The drain finishes a checksum that was
 * left to the device. Returns -1 if the ACK couldn't be made what it was again.
 */
static __always_inline int olaf_kick(struct __sk_buff *skb, const struct olaf_ack *ack)
{
	struct olaf_token kick, covered;

	if (ack->l4_offset > OLAF_KICK_MOST_L4_OFFSET ||
	    bpf_skb_load_bytes(skb, OLAF_TOKEN_OFFSET, &covered, sizeof(covered)))
		return 0;
	olaf_token_write(&kick, OLAF_KICK);
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &kick, sizeof(kick), 0))
		return 0;
	/* Refused: the token does it, some drain intervals later. */
	bpf_clone_redirect(skb, olaf_cfg.kick_ifindex, 0);
	return bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &covered, sizeof(covered), 0) ? -1 : 0;
}

/*
 * An ACK has come. A global function: verified once. Returns 0; -1: the skb is spoilt,
 * for want of memory, and must be dropped.
 */
__noinline int olaf_window_acked(struct __sk_buff *skb)
{
	struct olaf_window *window = olaf_the_window();
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_ack *ack = olaf_ack_here();
	struct olaf_search search = {};
	int due = -1;

	if (!window || !ring || !ack)
		return 0;
	search.cluster = bpf_ntohl(ack->message.cluster_be);
	search.worker = bpf_ntohl(ack->message.worker_be);
	search.sequence = bpf_ntohl(ack->message.sequence_be);
	search.segment = bpf_ntohs(ack->message.segment_be);
	search.segments = bpf_ntohs(ack->message.segments_be);
	search.generated_ns = bpf_be64_to_cpu(ack->message.generated_ns_be);
	olaf_search_flight(&search, window);
	if (search.found && olaf_lock(&ring->lock)) {
		due = olaf_window_answer(ring, window, &search);
		olaf_unlock(&ring->lock);
	}
	if (due < 0)
		__sync_fetch_and_add(&window->unmatched, 1);
	return due > 0 ? olaf_kick(skb, ack) : 0;
}

#endif /* OLAF_ACK_WINDOW_BPF_H */
