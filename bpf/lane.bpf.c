// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The drain lane: departures when nothing arrives to ride on.
 *
 *   DEV, TC ingress:        olaf_token_catch   the token goes into the lane
 *   lane, far end, ingress: olaf_lane_drain    what is due leaves; the token goes round
 *   lane, near end, ingress: olaf_lane_kick    an ACK made something due: it leaves now;
 *                                              a token was lost: a new one starts
 *
 * The lane is a veth pair. Its near end (olaf_cfg.lane_ifindex) has a token bucket that
 * lets a token through a drain interval after the last, longer ones later. Nothing holds
 * up what goes the other way, from the far end (olaf_cfg.kick_ifindex). One token is
 * alive: the ring's lane_generation. While anything waits it circulates; it dies when
 * it finds nothing waiting, under the same lock that appending takes, so no wake-up is
 * lost.
 */
#include <linux/pkt_cls.h>

#include "bpf/age/aom.bpf.h"
#include "bpf/queue/departure.bpf.h"
#include "bpf/age/tell.bpf.h"
#include "bpf/queue/revive.bpf.h"
#include "bpf/queue/token.bpf.h"

OLAF_DEFINE_TELL_ENTRY(olaf_tell_drained, struct __sk_buff, olaf_event_take_skb)

#define OLAF_ANY_BYTES 0xffffffff
/* Departures in one tick at most; what is due beyond goes with the next. */
#define OLAF_BURST 256

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum olaf_drained {
	OLAF_DRAINED_ONE = 0, /* a departure left; there may be more */
	OLAF_DRAINED_DUE = 1, /* nothing more is due */
	OLAF_DRAINED_ASK = 2, /* the head left by this very skb, to find its neighbour */
};

/* Resizes the skb and makes it the token, due back in `wait` nanoseconds. */
static __always_inline int olaf_token_renew(struct __sk_buff *skb, __u32 generation, __u64 wait)
{
	struct olaf_token token;

	olaf_token_write(&token, generation);
	/* Memory may be short: a token of the length it has only comes back earlier or later. */
	bpf_skb_change_tail(skb, olaf_token_bytes(wait), 0);
	return bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0);
}

/*
 * TC ingress of the queue's device. Everything but a token passes, having looked after a
 * lost one, and later filters still run. The first trip is made at the length of the longest turn: what the lane's bucket
 * has saved meanwhile is used up, and ticks then come at their interval.
 */
SEC("tc")
int olaf_token_catch(struct __sk_buff *skb)
{
	struct olaf_token token;

	if (olaf_token_read(skb, &token))
		return olaf_revive(skb) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
	if (token.generation != OLAF_PROOF)
		bpf_skb_change_tail(skb, olaf_token_bytes(OLAF_TOKEN_LONGEST_WAIT), 0);
	/* Where the skb begins is where it will be sent from: see olaf_token_read(). */
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.lane_ifindex, 0);
}

/* Hands the finished frame in the skb to its way out, as a clone. 0, or negative: refused. */
static __always_inline long olaf_lane_send(struct __sk_buff *skb)
{
	if (olaf_cfg.deliver != OLAF_DELIVER_LOCAL)
		return bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0);
	if (olaf_cfg.flags & OLAF_CONFIG_SKB_MODE)
		bpf_skb_store_bytes(skb, ETH_ALEN, (const void *)olaf_cfg.lane_mac, ETH_ALEN, 0);
	return bpf_clone_redirect(skb, olaf_cfg.ifindex, BPF_F_INGRESS);
}

/*
 * The next hop's address isn't known: the skb itself leaves through the kernel's
 * neighbour code, which asks for it, and a clone goes on as the token, unless it was a kick.
 */
static __always_inline int olaf_lane_ask(struct __sk_buff *skb, struct olaf_frame_out *out,
					 __u32 generation, __u32 bytes)
{
	if (generation != OLAF_KICK && (olaf_token_renew(skb, generation, 0) ||
					bpf_clone_redirect(skb, olaf_cfg.lane_ifindex, 0)))
		return -1;
	if (bpf_skb_change_tail(skb, bytes, 0) ||
	    (out->family == 6 && bpf_skb_change_proto(skb, bpf_htons(ETH_P_IPV6), 0)) ||
	    bpf_skb_change_tail(skb, bytes, 0))
		return -1;
	return 0;
}

/*
 * The meter, as a global function: verified once, not for each way a departure can go on. XDP
 * has it inline, where the call would be a fifth of its cost.
 */
__noinline int olaf_lane_meter(const struct olaf_pending *update, __u64 now)
{
	if (update)
		olaf_aom_departed(update, now);
	return 0;
}

/*
 * Lets the head leave if it is due. `generation` is the token's or OLAF_KICK. A global function:
 * verified once, called up to OLAF_BURST times a tick. Returns enum olaf_drained.
 */
__noinline int olaf_drain_one(struct __sk_buff *skb, __u32 generation)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_frame_out out = {};
	struct olaf_claim claim = {};
	__u32 bytes, outcome = OLAF_OUTCOME(OLAF_EVENT_DEPARTURE, OLAF_LEFT_DRAIN);
	int result = OLAF_DRAINED_ONE, refused = 0;
	__u64 now;

	if (!ring || !olaf_ring_waits(ring))
		return OLAF_DRAINED_DUE;
	now = bpf_ktime_get_ns();
	if (!olaf_window_may_open(now))
		return OLAF_DRAINED_DUE;
	if (!olaf_pop(ring, *(volatile __u64 *)&ring->head, now, OLAF_ANY_BYTES, 0, &claim) ||
	    olaf_take_leave(skb, &claim, now, &out))
		return OLAF_DRAINED_DUE;

	bytes = olaf_clamp(out.bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if (out.hop == OLAF_HOP_NO_ROUTE)
		goto unfit;
	if (out.hop == OLAF_HOP_NO_NEIGHBOUR) {
		if (olaf_lane_ask(skb, &out, generation, bytes))
			goto unfit;
		result = OLAF_DRAINED_ASK;
	} else if (bpf_skb_change_tail(skb, bytes, 0)) {
		goto unfit;
	}
	if (bpf_skb_store_bytes(skb, 0, olaf_frame_of(out.entry, out.header_bytes), bytes, 0))
		goto unfit;
	olaf_lane_meter(&out.entry->pending, now);
	if (result == OLAF_DRAINED_ONE && olaf_lane_send(skb)) {
		olaf_count(departures_refused);
		refused = 1;
	}
	goto told;
unfit:
	olaf_mourn(&claim);
	outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_UNFIT);
told:
	if (olaf_listened(now))
		olaf_tell_drained(skb, claim.entry, outcome, bytes, now);
	if (refused && olaf_listened(now))
		olaf_tell_drained(skb, claim.entry, OLAF_OUTCOME(OLAF_EVENT_LOSS, OLAF_LOST_LANE),
				  bytes, now);
	olaf_vacate(&claim);
	return result;
}

/*
 * Nothing more is due: when shall the token be back? Returns nanoseconds, or -1: never,
 * because nothing waits and nobody who popped may still append.
 */
static __always_inline __s64 olaf_lane_rest(struct olaf_ring *ring, __u32 generation)
{
	__u64 now = bpf_ktime_get_ns(), due = ring->next_departure_ns;
	__u64 longest = olaf_longest_turn_ns(olaf_cfg.drain_interval_ns);
	__s64 wait = -1;

	/*
	 * A closed window: an ACK that opens it needs no tick, so only a timeout does. With a
	 * rate besides, what an ACK lets go may have to wait for that: the token must be at hand.
	 */
	if (olaf_cfg.window && !olaf_cfg.ns_per_byte_q24) {
		due = olaf_window_opens_ns(now);
		if (due > now + longest)
			due = now + longest;
	}

	/* Not to be had: look again in a tick, so that no wake-up is lost. */
	if (!olaf_lock(&ring->lock))
		return 0;
	if (ring->lane_generation == generation) {
		if (ring->head == ring->tail && !ring->holds) {
			ring->lane_deadline_ns = 0;
		} else {
			wait = due > now ? due - now : 0;
			ring->lane_deadline_ns = olaf_token_deadline(now, wait);
		}
	}
	olaf_unlock(&ring->lock);
	return wait;
}

/* What is due leaves. Returns enum olaf_drained of the last one. */
static __always_inline int olaf_lane_burst(struct __sk_buff *skb, __u32 generation)
{
	int drained = OLAF_DRAINED_ONE, i;

	for (i = 0; i < OLAF_BURST && drained == OLAF_DRAINED_ONE; i++)
		drained = olaf_drain_one(skb, generation);
	return drained;
}

/* TC ingress of the lane's far end: one tick. */
SEC("tc")
int olaf_lane_drain(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_token token;
	__s64 wait;

	if (!ring || olaf_token_read(skb, &token))
		return TC_ACT_SHOT;
	if (token.generation == OLAF_PROOF) {
		olaf_count(lane_proofs);
		return TC_ACT_SHOT;
	}
	if (token.generation != *(volatile __u32 *)&ring->lane_generation) {
		olaf_count(lane_stale);
		return TC_ACT_SHOT;
	}
	olaf_count(lane_ticks);
	if (olaf_lane_burst(skb, token.generation) == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	wait = olaf_lane_rest(ring, token.generation);
	if (wait < 0 || olaf_token_renew(skb, token.generation, wait))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.lane_ifindex, 0);
}

/* The clone of some frame (revive.bpf.h) becomes the token, and starts on its first turn. */
static __always_inline int olaf_lane_start(struct __sk_buff *skb, __u32 generation)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (!ring || generation != *(volatile __u32 *)&ring->lane_generation ||
	    olaf_token_renew(skb, generation, OLAF_TOKEN_LONGEST_WAIT))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.lane_ifindex, 0);
}

/*
 * TC ingress of the lane's near end: a clone of an ACK (ack_window.bpf.h), with a token's
 * bytes, for one burst; or a new token. It has still its frame's tag and marks beside its
 * bytes. Longer by a byte, it forgets the sum that a device may have taken of it.
 */
SEC("tc")
int olaf_lane_kick(struct __sk_buff *skb)
{
	struct olaf_token token;

	if (olaf_token_read(skb, &token) || (skb->vlan_present && bpf_skb_vlan_pop(skb)))
		return TC_ACT_SHOT;
	skb->mark = 0;
	skb->priority = 0;
	if (token.generation != OLAF_KICK)
		return olaf_lane_start(skb, token.generation);
	if (bpf_skb_change_tail(skb, skb->len + 1, 0))
		return TC_ACT_SHOT;
	olaf_count(lane_kicks);
	if (olaf_lane_burst(skb, OLAF_KICK) == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	return TC_ACT_SHOT;
}

/*
 * Run by attach, with a frame of its own: sends it out of the queue's device as a proof. The
 * egress program turns it round, and from there on it goes a token's way (lane_proofs). 0,
 * or negative: the device refused it.
 */
SEC("tc")
int olaf_lane_prove(struct __sk_buff *skb)
{
	struct olaf_token token;

	olaf_token_write(&token, OLAF_PROOF);
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0))
		return -1;
	return bpf_clone_redirect(skb, olaf_cfg.ifindex, 0);
}
