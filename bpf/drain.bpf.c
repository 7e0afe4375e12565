// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The drain: departures when nothing arrives to ride on.
 *
 *   DEV, TC ingress:        olaf_token_catch   the token goes into the drain
 *   drain, far end, ingress: olaf_drain_tick    what is due leaves; the token goes round
 *   drain, near end, ingress: olaf_drain_kick    an ACK made something due: it leaves now;
 *                                              a token was lost: a new one starts
 *
 * The drain is a veth pair. Its near end (olaf_cfg.drain_ifindex) has a token bucket that
 * lets a token through a drain interval after the last, longer ones later. Nothing holds
 * up what goes the other way, from the far end (olaf_cfg.kick_ifindex). One token is
 * alive: the ring's drain_generation. While anything waits it circulates; it dies when
 * it finds nothing waiting, under the same lock that appending takes, so no wake-up is
 * lost.
 */
#include <linux/pkt_cls.h>

#include "bpf/depart/drain.bpf.h"
#include "bpf/depart/revive.bpf.h"

/* Departures in one tick at most; what is due beyond goes with the next. */
#define OLAF_BURST 256

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * TC ingress of the queue's device. Everything but a token passes, having looked after a
 * lost one, and later filters still run. The first trip is made at the length of the longest
 * turn: that uses up what the drain's bucket has saved, and ticks then come at their interval.
 */
SEC("tc")
int olaf_token_catch(struct __sk_buff *skb)
{
	struct olaf_token token;

	if (olaf_token_read(skb, &token))
		return olaf_revive(skb) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	/* A tag of the frame that it was made of would leave with whatever departs in it. */
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	if (token.generation != OLAF_PROOF)
		bpf_skb_change_tail(skb, olaf_token_bytes(OLAF_TOKEN_LONGEST_WAIT), 0);
	/* Where the skb begins is where it will be sent from: see olaf_token_read(). */
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.drain_ifindex, 0);
}

/*
 * Nothing more is due: when shall the token be back? Returns nanoseconds, or -1: never.
 * Then nothing waits, and no arrival that popped the head may still append.
 */
static __always_inline __s64 olaf_drain_rest(struct olaf_ring *ring, __u32 generation, int blocked)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 due = olaf_due_ns(ring, now) + olaf_left_to_arrivals_ns(ring, now);
	__s64 wait = -1;

	if (blocked && due < now + olaf_blocked_ns())
		due = now + olaf_blocked_ns();

	/* The lock can't be had: look again in a tick, so that no wake-up is lost. */
	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->drain_generation == generation) {
		if (ring->head == ring->tail && !ring->holds) {
			ring->drain_deadline_ns = 0;
		} else {
			wait = due > now ? due - now : 0;
			ring->drain_deadline_ns = olaf_token_deadline(now, wait);
		}
	}
	olaf_unlock(&ring->lock);
	return wait;
}

/* What is due leaves. Returns enum olaf_drained of the last one. */
static __always_inline int olaf_drain_burst(struct __sk_buff *skb, struct olaf_ring *ring,
					   __u32 generation)
{
	__u64 end = READ_ONCE(ring->tail);
	int drained = OLAF_DRAINED_ONE, i;

	for (i = 0; i < OLAF_BURST && drained == OLAF_DRAINED_ONE; i++)
		drained = olaf_drain_one(skb, generation, end);
	return drained;
}

/* The skb of some frame becomes the token, and starts on its first turn. */
static __always_inline int olaf_drain_start(struct __sk_buff *skb, __u32 generation)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (!ring || generation != READ_ONCE(ring->drain_generation) ||
	    olaf_token_renew(skb, generation, OLAF_TOKEN_LONGEST_WAIT))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.drain_ifindex, 0);
}

/* A proof has come the whole way of a token. If the token is lost, the proof becomes a new one. */
static __always_inline int olaf_drain_proven(struct __sk_buff *skb, struct olaf_ring *ring)
{
	__u64 now = bpf_ktime_get_ns();
	struct olaf_claim claim = {};

	olaf_count(drain_proofs);
	if (!olaf_ring_waits(ring) || !olaf_token_late(ring, now))
		return TC_ACT_SHOT;
	olaf_ring_revive(ring, now, &claim);
	if (!(claim.got & OLAF_GOT_TOKEN))
		return TC_ACT_SHOT;
	olaf_count(tokens_launched);
	return olaf_drain_start(skb, claim.generation);
}

/* TC ingress of the drain's far end: one tick. */
SEC("tc")
int olaf_drain_tick(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_token token;
	int drained;
	__s64 wait;

	if (!ring || olaf_token_read(skb, &token))
		return TC_ACT_SHOT;
	if (token.generation == OLAF_PROOF)
		return olaf_drain_proven(skb, ring);
	if (token.generation != READ_ONCE(ring->drain_generation)) {
		olaf_count(drain_stale);
		return TC_ACT_SHOT;
	}
	olaf_count(drain_ticks);
	drained = olaf_drain_burst(skb, ring, token.generation);
	if (drained == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	wait = olaf_drain_rest(ring, token.generation, drained == OLAF_DRAINED_BLOCKED);
	if (wait < 0 || olaf_token_renew(skb, token.generation, wait))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.drain_ifindex, 0);
}

/*
 * TC ingress of the drain's near end: a clone of an ACK (ack_window.bpf.h), with a token's
 * bytes, for one burst; or a new token. The skb still has its frame's VLAN tag and marks:
 * they are cleared. A device may have summed the old bytes; the kernel forgets that sum when
 * the skb changes its length, so it grows by a byte.
 */
SEC("tc")
int olaf_drain_kick(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_token token;

	if (!ring || olaf_token_read(skb, &token) || (skb->vlan_present && bpf_skb_vlan_pop(skb)))
		return TC_ACT_SHOT;
	skb->mark = 0;
	skb->priority = 0;
	if (token.generation != OLAF_KICK)
		return olaf_drain_start(skb, token.generation);
	if (bpf_skb_change_tail(skb, skb->len + 1, 0))
		return TC_ACT_SHOT;
	olaf_count(drain_kicks);
	if (olaf_drain_burst(skb, ring, OLAF_KICK) == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	return TC_ACT_SHOT;
}

/*
 * Run by attach, with a frame of its own: sends it out of the queue's device as a proof. The
 * egress program turns it round, and from there on it goes a token's way (drain_proofs). 0,
 * or negative: the device refused it.
 */
SEC("tc")
int olaf_drain_prove(struct __sk_buff *skb)
{
	struct olaf_token token;

	olaf_token_write(&token, OLAF_PROOF);
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0))
		return -1;
	return bpf_clone_redirect(skb, olaf_cfg.ifindex, 0);
}
