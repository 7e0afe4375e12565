/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ring: how many wait, and whether the drain is awake.
 *
 * Map olaf_ring: key 0, value struct olaf_ring. Writers: arrivals and the drain, under the
 * ring's lock. Outside it, `holds` is given up, atomically, by the arrival that took one, and
 * the token alone, of which there is one, writes `drained` and `drained_alone`.
 * Reading without the lock gives hints; every decision is taken under it, and the order of
 * the lock is the order of the queue.
 */
#ifndef OLAF_RING_BPF_H
#define OLAF_RING_BPF_H

#include "bpf/claim.bpf.h"
#include "bpf/lock.bpf.h"
#include "olaf/drain.h"

/* The token is late when it hasn't come back this long after it should have. */
#define OLAF_TOKEN_GRACE_NS 20000000ULL

/* The wait of a token that is away for the longest turn. */
#define OLAF_TOKEN_LONGEST_WAIT 0x7fffffffffffULL

/* Drain intervals that a token is away for which should come back in `wait` nanoseconds. */
static __always_inline __u64 olaf_token_ticks(__u64 wait)
{
	__u64 interval = olaf_cfg.drain_interval_ns, longest = olaf_longest_ticks(interval);
	__u64 ticks;

	if (!interval || wait <= interval)
		return 1;
	ticks = (wait + interval - 1) / interval;
	return ticks < longest ? ticks : longest;
}

/* When it is late: its turn is over, and so is the time that a busy machine may add. */
static __always_inline __u64 olaf_token_deadline(__u64 now, __u64 wait)
{
	return now + olaf_token_ticks(wait) * olaf_cfg.drain_interval_ns + OLAF_TOKEN_GRACE_NS;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_ring);
} olaf_ring SEC(".maps");

static __always_inline struct olaf_ring *olaf_the_ring(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_ring, &zero);
}

/* Hints, read without the lock. */
static __always_inline int olaf_ring_waits(struct olaf_ring *ring)
{
	return READ_ONCE(ring->head) != READ_ONCE(ring->tail);
}

static __always_inline int olaf_token_late(struct olaf_ring *ring, __u64 now)
{
	return now > READ_ONCE(ring->drain_deadline_ns);
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
	if (!free || now <= ring->drain_deadline_ns)
		return;
	ring->drain_deadline_ns = olaf_token_deadline(now, OLAF_TOKEN_LONGEST_WAIT);
	if (++ring->drain_generation == OLAF_PROOF)
		ring->drain_generation = OLAF_KICK + 1;
	claim->generation = ring->drain_generation;
	claim->got |= OLAF_GOT_TOKEN;
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

/*
 * The drain refused the new token, perhaps because it is down. So no token is under way, and none need be
 * waited for: the next frame that passes the device tries again, once in a drain interval at most.
 */
static __always_inline void olaf_token_refused(struct olaf_ring *ring, __u32 generation)
{
	if (!olaf_lock(&ring->lock))
		return;
	if (ring->drain_generation == generation)
		ring->drain_deadline_ns = bpf_ktime_get_ns() + olaf_cfg.drain_interval_ns;
	olaf_unlock(&ring->lock);
}

#endif /* OLAF_RING_BPF_H */
