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
#include "bpf/queue/fits.bpf.h"
#include "bpf/queue/sent.bpf.h"
#include "bpf/queue/solicit.bpf.h"
#include "bpf/age/tell.bpf.h"
#include "bpf/queue/revive.bpf.h"
#include "bpf/queue/token.bpf.h"

OLAF_DEFINE_TELL_ENTRY(olaf_tell_drained, struct __sk_buff, olaf_event_take_skb)

#define OLAF_ANY_BYTES 0xffffffff
/* Departures in one tick at most; what is due beyond goes with the next. */
#define OLAF_BURST 256

/* How often the lane looks whether a way out is there again, in drain intervals. */
#define OLAF_BLOCKED_TICKS 10

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum olaf_drained {
	OLAF_DRAINED_ONE = 0, /* a departure left; there may be more */
	OLAF_DRAINED_DUE = 1, /* nothing more is due */
	OLAF_DRAINED_ASK = 2, /* this very skb goes to ask for a next hop */
	OLAF_DRAINED_BLOCKED = 3, /* no way out is there for anything that waits */
};

/*
 * Reads the token of a frame; 0 if it is one of ours. From the MAC header, which isn't
 * always where the skb begins: generic XDP that had to copy it forgets its mac_len.
 */
static __always_inline int olaf_token_read(struct __sk_buff *skb, struct olaf_token *token)
{
	if (bpf_skb_load_bytes_relative(skb, OLAF_TOKEN_OFFSET, token, sizeof(*token),
					BPF_HDR_START_MAC))
		return -1;
	return token->eth_proto_be == bpf_htons(ETH_P_IP) && olaf_cfg.token_secret &&
			       token->secret == olaf_cfg.token_secret ?
		       0 :
		       -1;
}

static __always_inline __u64 olaf_blocked_ns(void)
{
	return OLAF_BLOCKED_TICKS * olaf_cfg.drain_interval_ns;
}

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
	/* A tag of the frame that it was made of would leave with whatever departs in it. */
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	bpf_skb_change_tail(skb, olaf_token_bytes(OLAF_TOKEN_LONGEST_WAIT), 0);
	/* Where the skb begins is where it will be sent from: see olaf_token_read(). */
	if (bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.lane_ifindex, 0);
}

/* Hands the finished frame in the skb to its way out, as a clone. Returns whether it is refused. */
static __always_inline int olaf_lane_send(struct __sk_buff *skb, const struct olaf_entry *entry)
{
	struct olaf_sent *sent = olaf_sent_lane_begin(&entry->message);
	long error;

	if (olaf_cfg.deliver != OLAF_DELIVER_LOCAL) {
		error = bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0);
	} else {
		if (olaf_cfg.flags & OLAF_CONFIG_SKB_MODE)
			bpf_skb_store_bytes(skb, ETH_ALEN, (const void *)olaf_cfg.lane_mac,
					    ETH_ALEN, 0);
		error = bpf_clone_redirect(skb, olaf_cfg.ifindex, BPF_F_INGRESS);
	}
	return olaf_sent_lane_end(sent, error);
}

/*
 * The next hop's address isn't known: the skb becomes the packet that lets the kernel ask for
 * it, and a clone goes on as the token, unless it was a kick.
 */
static __always_inline int olaf_lane_ask(struct __sk_buff *skb, const struct olaf_destination *to,
					 __u32 generation)
{
	if (generation != OLAF_KICK &&
	    (olaf_token_renew(skb, generation, olaf_blocked_ns()) ||
	     bpf_clone_redirect(skb, olaf_cfg.lane_ifindex, 0)))
		return -1;
	return olaf_let_kernel_ask(skb, to);
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
 * The head, of `entry`, has no way out now. What can be asked is asked; who never had one
 * gives up its place in time; else the head goes behind the last, as others may have theirs.
 * Returns enum olaf_drained.
 */
static __always_inline int olaf_lane_blocked(struct __sk_buff *skb, struct olaf_ring *ring,
					     __u64 position, const struct olaf_destination *to,
					     const struct olaf_nexthop *next, __u32 generation,
					     __u64 now)
{
	if (olaf_gate_may_probe(now))
		olaf_probe_gate(skb, now);
	if (!olaf_gate_may(now))
		return OLAF_DRAINED_BLOCKED;
	if (next->state == OLAF_HOP_NO_NEIGHBOUR &&
	    olaf_hop_may_ask(to, now, OLAF_HOP_ASK_NS))
		return olaf_lane_ask(skb, to, generation) ? OLAF_DRAINED_BLOCKED :
							    OLAF_DRAINED_ASK;
	return olaf_rotate(ring, position) ? OLAF_DRAINED_ONE : OLAF_DRAINED_BLOCKED;
}

/* The popped entry leaves, or is lost as unfit: no memory. */
static __always_inline void olaf_lane_depart(struct __sk_buff *skb, struct olaf_claim *claim,
					     const struct olaf_nexthop *next, __u64 now)
{
	__u32 bytes = 0, outcome = OLAF_OUTCOME(OLAF_EVENT_DEPARTURE, OLAF_LEFT_DRAIN);
	struct olaf_frame_out out = {};
	int refused = 0;

	if (olaf_take_leave(claim, next, &out))
		goto unfit;
	bytes = olaf_clamp(out.bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if (!olaf_fits_now(skb, &out.entry->pending) || bpf_skb_change_tail(skb, bytes, 0) ||
	    bpf_skb_store_bytes(skb, 0, olaf_frame_of(out.entry, out.header_bytes), bytes, 0))
		goto unfit;
	olaf_lane_meter(&out.entry->pending, now);
	if (olaf_lane_send(skb, out.entry)) {
		olaf_count_lane_loss(out.entry->pending.count);
		olaf_gate_lost(now);
		refused = 1;
	}
	goto told;
unfit:
	olaf_mourn(claim);
	outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_UNFIT);
told:
	if (olaf_listened(now))
		olaf_tell_drained(skb, claim->entry, outcome, bytes, now);
	if (refused && olaf_listened(now))
		olaf_tell_drained(skb, claim->entry,
				  OLAF_OUTCOME(OLAF_EVENT_LOSS, OLAF_LOST_LANE), bytes, now);
	olaf_vacate(claim);
}

/*
 * Lets the head leave if it is due and its way out is there. `generation` is the token's or
 * OLAF_KICK; positions from `end` on were moved there by this burst. A global function: verified
 * once, called up to OLAF_BURST times a tick. Returns enum olaf_drained.
 */
__noinline int olaf_drain_one(struct __sk_buff *skb, __u32 generation, __u64 end)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_destination to = {};
	struct olaf_nexthop next = {};
	struct olaf_claim claim = {};
	struct olaf_entry *entry;
	struct olaf_place *place;
	__u64 now, position;

	if (!ring || !olaf_ring_waits(ring))
		return OLAF_DRAINED_DUE;
	now = bpf_ktime_get_ns();
	if (!olaf_ring_due(ring, now))
		return OLAF_DRAINED_DUE;
	position = *(volatile __u64 *)&ring->head;
	if (position >= end)
		return OLAF_DRAINED_BLOCKED;
	place = olaf_place_at(position);
	entry = place ? olaf_entry_at(place->entry) : NULL;
	if (!entry)
		return OLAF_DRAINED_DUE;
	if (!olaf_way_is_there(skb, entry, &entry->pending, now, &to, &next) ||
	    !olaf_turn_has_come(place))
		return olaf_lane_blocked(skb, ring, position, &to, &next, generation, now);
	if (next.stale && olaf_hop_may_ask(&to, now, OLAF_HOP_CONFIRM_NS))
		olaf_ask_next_hop(skb, &next);
	if (!olaf_pop(ring, position, now, OLAF_ANY_BYTES, 0, &claim))
		return OLAF_DRAINED_DUE;
	olaf_lane_depart(skb, &claim, &next, now);
	return OLAF_DRAINED_ONE;
}

/*
 * Nothing more is due: when shall the token be back? Returns nanoseconds, or -1: never,
 * because nothing waits and nobody who popped may still append.
 */
static __always_inline __s64 olaf_lane_rest(struct olaf_ring *ring, __u32 generation, int blocked)
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

	if (blocked && due < now + olaf_blocked_ns())
		due = now + olaf_blocked_ns();

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
static __always_inline int olaf_lane_burst(struct __sk_buff *skb, struct olaf_ring *ring,
					   __u32 generation)
{
	__u64 end = *(volatile __u64 *)&ring->tail;
	int drained = OLAF_DRAINED_ONE, i;

	for (i = 0; i < OLAF_BURST && drained == OLAF_DRAINED_ONE; i++)
		drained = olaf_drain_one(skb, generation, end);
	return drained;
}

/* TC ingress of the lane's far end: one tick. */
SEC("tc")
int olaf_lane_drain(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_token token;
	int drained;
	__s64 wait;

	if (!ring || olaf_token_read(skb, &token))
		return TC_ACT_SHOT;
	if (token.generation != *(volatile __u32 *)&ring->lane_generation) {
		olaf_count(lane_stale);
		return TC_ACT_SHOT;
	}
	olaf_count(lane_ticks);
	drained = olaf_lane_burst(skb, ring, token.generation);
	if (drained == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	wait = olaf_lane_rest(ring, token.generation, drained == OLAF_DRAINED_BLOCKED);
	if (wait < 0 || olaf_token_renew(skb, token.generation, wait))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.lane_ifindex, 0);
}

/* The clone of some frame (revive.bpf.h) becomes the token, and starts on its first turn. */
static __always_inline int olaf_lane_start(struct __sk_buff *skb, __u32 generation)
{
	if (olaf_token_renew(skb, generation, OLAF_TOKEN_LONGEST_WAIT))
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
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_token token;

	if (!ring || olaf_token_read(skb, &token) || (skb->vlan_present && bpf_skb_vlan_pop(skb)))
		return TC_ACT_SHOT;
	skb->mark = 0;
	skb->priority = 0;
	if (token.generation != OLAF_KICK)
		return olaf_lane_start(skb, token.generation);
	if (bpf_skb_change_tail(skb, skb->len + 1, 0))
		return TC_ACT_SHOT;
	olaf_count(lane_kicks);
	if (olaf_lane_burst(skb, ring, OLAF_KICK) == OLAF_DRAINED_ASK)
		return bpf_redirect_neigh(olaf_cfg.egress_ifindex, NULL, 0, 0);
	return TC_ACT_SHOT;
}
