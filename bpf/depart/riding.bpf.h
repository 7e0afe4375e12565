/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What XDP does with the arriving frame itself: claim what is due, let it leave as it
 * is, write a departure into it, or make it the token.
 */
#ifndef OLAF_RIDING_BPF_H
#define OLAF_RIDING_BPF_H

#include "bpf/age/aom.bpf.h"
#include "bpf/age/tell.bpf.h"
#include "bpf/arrival.bpf.h"
#include "bpf/depart/departure.bpf.h"
#include "bpf/depart/token.bpf.h"
#include "bpf/control.bpf.h"
#include "bpf/packet/checksum.bpf.h"
#include "bpf/packet/partial.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/way/gate.bpf.h"
#include "bpf/way/sent.bpf.h"
#include "bpf/way/solicitation.bpf.h"
#include "bpf/way/xdp_gate.bpf.h"

OLAF_DEFINE_TELL_ENTRY(olaf_tell_ridden, struct xdp_md, olaf_event_take_xdp)

/* Will the device that the frame leaves by make its checksum right? */
static __always_inline int olaf_finishes(const struct olaf_arrival *a)
{
	__u32 bytes = a->update.header_bytes;

	if (!olaf_is_partial(a) || olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		bytes = ETH_HLEN + sizeof(struct udphdr) +
			(olaf_cfg.upstream_family == 4 ? sizeof(struct iphdr) :
							 sizeof(struct ipv6hdr));
	return (olaf_cfg.flags & OLAF_CONFIG_OUTPUT_SUMS) && bytes == a->update.header_bytes;
}

/* Leaves the checksum of a frame with new headers to the device again. */
static __always_inline void olaf_leave_partial(struct olaf_entry *staged,
					       const struct olaf_pending *update)
{
	struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	__u32 l3_offset = olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ? ETH_HLEN : update->l3_offset;

	udp->check = olaf_partial_checksum(staged, update->header_bytes, l3_offset,
					   olaf_outer_family(update));
}

/*
 * XDP is about to send `update` as a frame. Those that go up the stack are seen there. Generic XDP
 * sends an skb: a veth's peer may drop it, which only its message tells apart from others there.
 */
static __always_inline void olaf_note_sent(struct xdp_md *ctx, const struct olaf_pending *update)
{
	struct olaf_header message;
	struct olaf_sent *sent;

	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return;
	sent = olaf_sent_note(ctx, update->count);
	if (!sent || !(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE))
		return;
	olaf_message_write(&message, update);
	olaf_sent_by(sent, OLAF_SENT_BY_XDP, &message);
}

/*
 * Out of the device that departures leave by, or up the stack. Drivers drop a frame of XDP_TX in
 * silence when their send queue is full (virtio_net, ena, gve, ...), a redirected one never. Generic
 * XDP redirects nothing to the device that it came by.
 */
static __always_inline int olaf_send(void)
{
	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return XDP_PASS;
	if ((olaf_cfg.flags & OLAF_CONFIG_SKB_MODE) && olaf_cfg.egress_ifindex == olaf_cfg.ifindex)
		return XDP_TX;
	return bpf_redirect(olaf_cfg.egress_ifindex, 0);
}

/* May XDP send this arrival's frame out? If not, the frame may be the probe that asks whether it may. */
static __always_inline int olaf_takes_xdp(struct olaf_arrival *a)
{
	if (olaf_xdp_gate_open(a->now))
		return 1;
	if (olaf_xdp_gate_asks(a->now))
		a->claim.got |= OLAF_GOT_PROBE;
	return 0;
}

/* Can the arrival leave at once, were the link free? Fills a->next. One that is damaged can't. */
static __always_inline int olaf_may_pass(struct xdp_md *ctx, struct olaf_arrival *a)
{
	struct olaf_destination to = {};
	struct olaf_entry *staged;

	if (!olaf_gate_open() || !olaf_finishes(a) || olaf_is_damaged(ctx, a))
		return 0;
	if (!olaf_needs_hop(a->update.routed))
		return olaf_takes_xdp(a);
	staged = olaf_stage(ctx, a->update.header_bytes, a->update.header_bytes);
	/* The drain alone can ask a next hop for its address: now and then an update waits for that. */
	return staged && olaf_way_is_there(ctx, staged, &a->update, a->now, &to, &a->next) &&
	       !a->next.stale && olaf_takes_xdp(a);
}

/*
 * Could this frame carry the head away? Makes it longer if it must be, and fills a->next.
 * Returns its room; 0: it can't.
 */
static __always_inline __u32 olaf_make_room(struct xdp_md *ctx, struct olaf_arrival *a,
					    __u64 head)
{
	struct olaf_place *place = olaf_place_at(head);
	struct olaf_destination to = {};
	struct olaf_entry *entry;
	__u32 bytes;

	if (!place)
		return 0;
	bytes = READ_ONCE(place->bytes);
	if (olaf_cfg.deliver != OLAF_DELIVER_LOCAL) {
		entry = olaf_entry_at(place->entry);
		if (!entry ||
		    !olaf_way_is_there(ctx, entry, &entry->pending, a->now, &to, &a->next) ||
		    a->next.stale || !olaf_takes_xdp(a))
			return 0;
	}
	if (bytes <= a->frame_bytes)
		return a->frame_bytes;
	return bpf_xdp_adjust_tail(ctx, bytes - a->frame_bytes) ? 0 : bytes;
}

/*
 * Claims of the ring what this arrival can have before it is judged: passage when
 * nothing waits, the head when it is due, a token when the drain's is late.
 */
__noinline int olaf_claim(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_slot *slot;
	__u32 room, late;
	__u64 head;

	if (!a || !ring)
		return -1;
	slot = olaf_slot_at(a->update.slot);
	if (!slot)
		return -1;
	olaf_look_whether_partial(ctx, a);
	/* A lost token is replaced first: this arrival may be the last that could. */
	late = olaf_ring_waits(ring) && olaf_token_late(ring, a->now);
	if (olaf_emptying(a->now) && olaf_may_pass(ctx, a)) {
		/* The drain lets go what waits; an arrival with nothing to fold into goes on. */
		a->claim.got |= olaf_slot_gathers(slot) ? OLAF_GOT_WAY_ON : OLAF_GOT_PASSAGE;
	} else if (!olaf_ring_waits(ring)) {
		/* Without a rate and a window there is nothing to take a share of: no lock. */
		if (olaf_may_pass(ctx, a) &&
		    ((!olaf_cfg.ns_per_byte_q24 && !olaf_cfg.window) ||
		     olaf_ring_pass(ring, a->now, a->frame_bytes, &a->update)))
			a->claim.got |= OLAF_GOT_PASSAGE;
	} else if (!late && olaf_may_carry(a) && olaf_may_be_due(ring, a->now) &&
		   !olaf_held(a->now)) {
		head = READ_ONCE(ring->head);
		room = olaf_make_room(ctx, a, head);
		if (room)
			olaf_pop(ring, head, a->now, room, 1, &a->claim);
	}
	if (late && !(a->claim.got & ~(OLAF_GOT_WAY_ON | OLAF_GOT_PROBE)))
		olaf_ring_revive(ring, a->now, &a->claim);
	return 0;
}

/*
 * Nothing waits and the link is free: the frame leaves, unchanged where that is right
 * (local; bridged with a complete checksum). Returns an XDP verdict.
 */
__noinline int olaf_pass_through(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	__u32 header_bytes, new_bytes, unfinished;
	struct olaf_entry *staged;
	struct olaf_slot *slot;

	if (!a)
		return XDP_DROP;
	slot = olaf_slot_at(a->update.slot);
	if (!slot)
		return XDP_DROP;
	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		goto passed;

	header_bytes = a->update.header_bytes;
	staged = olaf_stage(ctx, header_bytes, header_bytes);
	if (!staged)
		goto unfit;
	unfinished = !olaf_is_partial(a) && olaf_checksum_is_partial(staged, &a->update);
	if (!olaf_needs_hop(a->update.routed) && !unfinished)
		goto passed;
	/* A new checksum covers the message, so that must be at hand. A router changes none. */
	unfinished |= olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM;
	if (unfinished && !olaf_stage(ctx, header_bytes, header_bytes + a->message_bytes))
		goto unfit;
	new_bytes = olaf_headers_renew(staged, &a->update, &a->next);
	if (olaf_is_partial(a))
		olaf_leave_partial(staged, &a->update);
	else if (unfinished)
		olaf_udp_finish(staged, new_bytes, &a->update);
	if (new_bytes != header_bytes &&
	    bpf_xdp_adjust_head(ctx, (int)header_bytes - (int)new_bytes))
		goto unfit;
	new_bytes = olaf_clamp(new_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	if (bpf_xdp_store_bytes(ctx, 0, olaf_frame_of(staged, new_bytes), new_bytes))
		goto unfit;
passed:
	olaf_slot_passed(slot, a->update.count);
	olaf_aom_passed(slot, &a->update, a->now);
	if (olaf_listened(a->now))
		olaf_tell_passage(ctx);
	olaf_note_sent(ctx, &a->update);
	return olaf_send();
unfit:
	if (olaf_lock(&slot->lock)) {
		olaf_trouble_dropped(slot, &slot->counters.dropped_full, a->update.count, a->now);
		olaf_unlock(&slot->lock);
	} else {
		olaf_trouble_contended(a->update.count, a->now);
	}
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_FULL);
	if (olaf_listened(a->now))
		olaf_tell_outcome(ctx);
	return XDP_DROP;
}

/* The frame that arrived carries the head of the queue away. Returns an XDP verdict. */
__noinline int olaf_ride(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	__u32 bytes, outcome = OLAF_OUTCOME(OLAF_EVENT_DEPARTURE, OLAF_LEFT_RIDING);
	struct olaf_frame_out out = {};
	int delta, verdict;

	if (!a || olaf_take_leave(&a->claim, &a->next, &out))
		return XDP_DROP;
	delta = (int)out.bytes - (int)bpf_xdp_get_buff_len(ctx);
	bytes = olaf_clamp(out.bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if ((delta && bpf_xdp_adjust_tail(ctx, delta)) ||
	    bpf_xdp_store_bytes(ctx, 0, olaf_frame_of(out.entry, out.header_bytes), bytes)) {
		olaf_count_unfit(&a->claim, a->now);
		outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_UNFIT);
		verdict = XDP_DROP;
	} else {
		olaf_aom_departed(&out.entry->pending, a->now);
		olaf_note_sent(ctx, &out.entry->pending);
		verdict = olaf_send();
	}
	if (olaf_listened(a->now))
		olaf_tell_ridden(ctx, a->claim.entry, outcome, bytes, a->now);
	olaf_vacate(&a->claim);
	return verdict;
}

/*
 * The frame that arrived leaves as a probe, with nothing of what it held, to see whether the output
 * takes frames of XDP's. Returns an XDP verdict.
 */
__noinline int olaf_ask_output(struct xdp_md *ctx)
{
	union olaf_solicitation probe = {};

	olaf_write_probe(&probe.eth);
	if (bpf_xdp_store_bytes(ctx, 0, probe.bytes, OLAF_SOLICIT_BYTES) ||
	    bpf_xdp_adjust_tail(ctx, (int)OLAF_SOLICIT_BYTES - (int)bpf_xdp_get_buff_len(ctx)))
		return XDP_DROP;
	olaf_count(gate_probes);
	olaf_xdp_gate_asked(bpf_ktime_get_ns());
	olaf_sent_note(ctx, 0);
	return olaf_send();
}

/* The frame that arrived goes up to TC ingress as the token. Returns an XDP verdict. */
static __always_inline int olaf_launch(struct xdp_md *ctx, __u32 generation)
{
	struct olaf_token token;

	olaf_token_write(&token, generation);
	if (bpf_xdp_store_bytes(ctx, OLAF_TOKEN_OFFSET, &token, sizeof(token)))
		return XDP_DROP;
	olaf_count(tokens_launched);
	return XDP_PASS;
}

#endif /* OLAF_RIDING_BPF_H */
