/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * May an update leave now? Pace and window are asked here, and nowhere else:
 *
 *   pace     the link has had time for what left before: one clock for all departures
 *   window   fewer departures than it allows are unanswered
 *
 * Who asks without the ring's lock gets a hint. Who is to leave asks again with it, and takes its
 * share of both.
 */
#ifndef OLAF_DUE_BPF_H
#define OLAF_DUE_BPF_H

#include "bpf/order/ring.bpf.h"
#include "bpf/order/window.bpf.h"

/* Without the lock: could olaf_is_due() be true? */
static __always_inline int olaf_may_be_due(struct olaf_ring *ring, __u64 now)
{
	return now >= READ_ONCE(ring->next_departure_ns) && olaf_window_may_open(now);
}

/* Under the lock. */
static __always_inline int olaf_is_due(const struct olaf_ring *ring, __u64 now)
{
	return now >= ring->next_departure_ns && olaf_window_opens(now);
}

/* The link's time for a frame of `bytes`, in nanoseconds; 0: no rate is set. */
static __always_inline __u64 olaf_serialisation_ns(__u32 bytes)
{
	return ((bytes + olaf_cfg.frame_overhead) * olaf_cfg.ns_per_byte_q24) >> 24;
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
	serialisation = olaf_serialisation_ns(bytes);
	credit = olaf_cfg.drain_interval_ns;
	if (credit < serialisation)
		credit = serialisation;
	start = ring->next_departure_ns;
	if (start + credit < now)
		start = now - credit;
	ring->next_departure_ns = start + serialisation;
}

/* `update`, of `bytes`, leaves: its share of the link's time and of the window. Under the lock. */
static __always_inline void olaf_due_take(struct olaf_ring *ring, __u64 now, __u32 bytes,
					  const struct olaf_pending *update)
{
	olaf_pace(ring, now, bytes);
	olaf_window_depart(update, now);
}

/* Without the lock: when will something be due, as far as the drain must be back for it? */
static __always_inline __u64 olaf_due_ns(const struct olaf_ring *ring, __u64 now)
{
	__u64 latest = now + olaf_longest_turn_ns(olaf_cfg.drain_interval_ns), due;

	/*
	 * A closed window: an ACK that opens it sets off a departure itself, so the token is only
	 * needed at a timeout. With a rate besides, a departure that the ACK allows may have to
	 * wait for the link: then the token must be at hand.
	 */
	if (!olaf_cfg.window || olaf_cfg.ns_per_byte_q24)
		return ring->next_departure_ns;
	due = olaf_window_opens_ns(now);
	return due < latest ? due : latest;
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
	passes = ring->head == ring->tail && olaf_is_due(ring, now);
	if (passes)
		olaf_due_take(ring, now, bytes, update);
	olaf_unlock(&ring->lock);
	return passes;
}

#endif /* OLAF_DUE_BPF_H */
