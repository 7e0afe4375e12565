/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One departure of the drain, in the skb of its token or of a kick:
 *
 *   is something due, and left by arrivals? -> is its way out there?
 *                                                no |            | yes
 *              ask for it, or let others go first <-+            v
 *                                               pop -> write the frame -> send a clone
 */
#ifndef OLAF_DRAIN_BPF_H
#define OLAF_DRAIN_BPF_H

#include "bpf/age/aom.bpf.h"
#include "bpf/age/tell.bpf.h"
#include "bpf/depart/departure.bpf.h"
#include "bpf/depart/token.bpf.h"
#include "bpf/control.bpf.h"
#include "bpf/way/wayout.bpf.h"
#include "bpf/way/sent.bpf.h"
#include "bpf/way/solicitation.bpf.h"

OLAF_DEFINE_TELL_ENTRY(olaf_tell_drained, struct __sk_buff, olaf_event_take_skb)

/* Asks the next hop for its address, by a frame of our own: a clone of the skb leaves. */
static __always_inline void olaf_ask_next_hop(struct __sk_buff *skb,
					      const struct olaf_nexthop *next)
{
	union olaf_solicitation frame = {};

	if (next->via_family == 4)
		olaf_write_arp(&frame.arp, next);
	else
		olaf_write_ns(&frame.ns, next);
	if (!olaf_solicit_put(skb, &frame) && !bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0))
		olaf_count(hops_asked);
}

/* Asks the output device whether it takes frames again. */
static __always_inline void olaf_probe_gate(struct __sk_buff *skb, __u64 now)
{
	union olaf_solicitation frame = {};

	olaf_write_probe(&frame.eth);
	olaf_count(gate_probes);
	if (!olaf_solicit_put(skb, &frame) && !bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0))
		olaf_gate_probed(now);
}

#define OLAF_ANY_BYTES 0xffffffff
/* How often the drain looks whether a way out is there again, in drain intervals. */
#define OLAF_BLOCKED_TICKS 10

enum olaf_drained {
	OLAF_DRAINED_ONE = 0, /* a departure left; there may be more */
	OLAF_DRAINED_DUE = 1, /* nothing more is due */
	OLAF_DRAINED_ASK = 2, /* this very skb goes to ask for a next hop */
	OLAF_DRAINED_BLOCKED = 3, /* no way out is there for anything that waits */
};

static __always_inline __u64 olaf_blocked_ns(void)
{
	return OLAF_BLOCKED_TICKS * olaf_cfg.drain_interval_ns;
}

/* After so many departures in a row that no arrival took, only one in as many is left to them. */
#define OLAF_ALONE_MOST 64

/*
 * Is the head, at `position`, left to arrivals? If the departure before it was none of the token's;
 * else to try whether they come: after 1, 2, 4, ... departures of the token's in a row.
 */
static __always_inline int olaf_leaves_to_arrivals(const struct olaf_ring *ring, __u64 position)
{
	__u32 alone = ring->drained_alone;

	if (position != ring->drained)
		return 1;
	return alone < OLAF_ALONE_MOST ? !(alone & (alone - 1)) : !(alone % OLAF_ALONE_MOST);
}

/*
 * For how long the token leaves the head to arrivals, in nanoseconds from when it is due. A
 * departure that rides in an arriving frame needs no skb and no clone. On a link whose frames take
 * longer than a drain interval the token would mostly come first.
 *
 * Half the head's time on the link: under congestion an arrival comes within that, and the link
 * loses nothing, for a departure has credit for all of its time (olaf_pace()). Its age may grow by
 * as much: so there is no wait where no arrival takes what it is left, but for a trial now and then.
 */
static __always_inline __u64 olaf_left_to_arrivals_ns(const struct olaf_ring *ring, __u64 now)
{
	__u64 interval = olaf_cfg.drain_interval_ns, longest = olaf_longest_turn_ns(interval);
	__u64 position = READ_ONCE(ring->head), half;
	struct olaf_place *place = olaf_place_at(position);

	if (!place || !olaf_leaves_to_arrivals(ring, position) || olaf_emptying(now))
		return 0;
	half = olaf_serialisation_ns(READ_ONCE(place->bytes)) / 2;
	if (half <= interval)
		return 0;
	return half < longest ? half : longest;
}

/* The departure at `position` left with the token. */
static __always_inline void olaf_note_drained(struct olaf_ring *ring, __u64 position)
{
	WRITE_ONCE(ring->drained_alone,
		   position == ring->drained ? ring->drained_alone + 1 : 0);
	WRITE_ONCE(ring->drained, position + 1);
}

/* Resizes the skb and makes it the token, due back in `wait` nanoseconds. */
static __always_inline int olaf_token_renew(struct __sk_buff *skb, __u32 generation, __u64 wait)
{
	struct olaf_token token;

	olaf_token_write(&token, generation);
	/* It may fail for want of memory: then the token only comes back earlier or later. */
	bpf_skb_change_tail(skb, olaf_token_bytes(wait), 0);
	return bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0);
}

/*
 * Hands the finished frame in the skb to its way out, as a clone. Returns whether it is refused.
 * A negative error is the device's own: it is down, or gone. A queueing discipline that is full
 * says a positive one; one without a carrier too, which the loss programs tell apart.
 */
static __always_inline int olaf_drain_send(struct __sk_buff *skb, const struct olaf_entry *entry,
					  __u64 now)
{
	struct olaf_sent *sent = olaf_sent_drain_begin(&entry->message);
	long error;

	if (olaf_cfg.deliver != OLAF_DELIVER_LOCAL) {
		error = bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0);
		if (error < 0)
			olaf_gate_lost(now);
	} else {
		if (olaf_cfg.flags & OLAF_CONFIG_SKB_MODE)
			bpf_skb_store_bytes(skb, ETH_ALEN, (const void *)olaf_cfg.drain_mac,
					    ETH_ALEN, 0);
		error = bpf_clone_redirect(skb, olaf_cfg.ifindex, BPF_F_INGRESS);
	}
	return olaf_sent_drain_end(sent, error);
}

/*
 * The next hop's address isn't known: the skb becomes the packet that lets the kernel ask for
 * it, and a clone goes on as the token, unless it was a kick.
 */
static __always_inline int olaf_drain_ask(struct __sk_buff *skb, const struct olaf_destination *to,
					 __u32 generation)
{
	if (generation != OLAF_KICK &&
	    (olaf_token_renew(skb, generation, olaf_blocked_ns()) ||
	     bpf_clone_redirect(skb, olaf_cfg.drain_ifindex, 0)))
		return -1;
	return olaf_let_kernel_ask(skb, to);
}

/*
 * The meter, as a global function: verified once, not for each way a departure can go on. XDP
 * has it inline, where the call would be a fifth of its cost.
 */
__noinline int olaf_drain_meter(const struct olaf_pending *update, __u64 now)
{
	if (update)
		olaf_aom_departed(update, now);
	return 0;
}

/* Has the entry waited in vain for so long that it goes to nowhere? Others need its place. */
static __always_inline int olaf_is_hopeless(const struct olaf_pending *update,
					    const struct olaf_destination *to, __u64 now)
{
	return olaf_needs_hop(update->routed) && now > update->first_arrived_ns &&
	       now - update->first_arrived_ns > OLAF_HOP_PATIENCE_NS && !olaf_hop_ever_answered(to);
}

/* The head at `position` is given up: its updates count as dropped. */
static __always_inline int olaf_drain_give_up(struct olaf_ring *ring, __u64 position, __u64 now)
{
	struct olaf_claim claim = {};

	if (!olaf_pop(ring, position, now, OLAF_ANY_BYTES, 0, &claim))
		return OLAF_DRAINED_BLOCKED;
	olaf_count_unfit(&claim, now);
	olaf_vacate(&claim);
	return OLAF_DRAINED_ONE;
}

/*
 * The head, `entry` in `place`, has no way out now, or others are before it on the same way.
 * A next hop that can be asked is asked; else the head goes behind the last, for others may be
 * able to leave.
 * Only who is next in turn can be given up. Returns enum olaf_drained.
 */
static __always_inline int olaf_drain_blocked(struct __sk_buff *skb, struct olaf_ring *ring,
					     __u64 position, const struct olaf_place *place,
					     const struct olaf_entry *entry,
					     const struct olaf_destination *to,
					     const struct olaf_nexthop *next, __u32 generation,
					     __u64 now)
{
	if (olaf_gate_may_probe(now)) {
		olaf_probe_gate(skb, now);
		return OLAF_DRAINED_BLOCKED; /* the head leaves next if the probe did: nobody gets ahead of it */
	}
	if (!olaf_gate_may(now))
		return OLAF_DRAINED_BLOCKED;
	if (next->state == OLAF_HOP_NO_NEIGHBOUR &&
	    olaf_hop_may_ask(to, now, OLAF_HOP_ASK_NS))
		return olaf_drain_ask(skb, to, generation) ? OLAF_DRAINED_BLOCKED :
							    OLAF_DRAINED_ASK;
	if (next->state != OLAF_HOP_RESOLVED && olaf_turn_has_come(place) &&
	    olaf_is_hopeless(&entry->pending, to, now))
		return olaf_drain_give_up(ring, position, now);
	return olaf_rotate(ring, position) ? OLAF_DRAINED_ONE : OLAF_DRAINED_BLOCKED;
}

/* The popped entry leaves, or is lost as unfit: no memory. */
static __always_inline void olaf_drain_depart(struct __sk_buff *skb, struct olaf_claim *claim,
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
	olaf_drain_meter(&out.entry->pending, now);
	if (olaf_drain_send(skb, out.entry, now)) {
		olaf_trouble_drain_loss(out.entry->pending.count, now);
		refused = 1;
	}
	goto told;
unfit:
	olaf_count_unfit(claim, now);
	outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_UNFIT);
told:
	if (olaf_listened(now))
		olaf_tell_drained(skb, claim->entry, outcome, bytes, now);
	if (refused && olaf_listened(now))
		olaf_tell_drained(skb, claim->entry,
				  OLAF_OUTCOME(OLAF_EVENT_LOSS, OLAF_LOST_DRAIN), bytes, now);
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
	if (!olaf_may_be_due(ring, now))
		return OLAF_DRAINED_DUE;
	if (generation != OLAF_KICK &&
	    now < READ_ONCE(ring->next_departure_ns) + olaf_left_to_arrivals_ns(ring, now))
		return OLAF_DRAINED_DUE;
	position = READ_ONCE(ring->head);
	if (position >= end || olaf_held(now))
		return OLAF_DRAINED_BLOCKED;
	place = olaf_place_at(position);
	entry = place ? olaf_entry_at(place->entry) : NULL;
	if (!entry)
		return OLAF_DRAINED_DUE;
	if (!olaf_way_is_there(skb, entry, &entry->pending, now, &to, &next) ||
	    !olaf_turn_has_come(place))
		return olaf_drain_blocked(skb, ring, position, place, entry, &to, &next,
					 generation, now);
	if (next.stale && olaf_hop_may_ask(&to, now, OLAF_HOP_CONFIRM_NS))
		olaf_ask_next_hop(skb, &next);
	if (!olaf_pop(ring, position, now, OLAF_ANY_BYTES, 0, &claim))
		return OLAF_DRAINED_DUE;
	if (generation != OLAF_KICK)
		olaf_note_drained(ring, position);
	olaf_drain_depart(skb, &claim, &next, now);
	return OLAF_DRAINED_ONE;
}

#endif /* OLAF_DRAIN_BPF_H */
