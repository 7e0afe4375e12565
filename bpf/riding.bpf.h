/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What XDP does with the arriving frame itself: claim what is due, let it leave as it
 * is, write a departure into it, or make it the token.
 */
#ifndef OLAF_RIDING_BPF_H
#define OLAF_RIDING_BPF_H

#include "clusters.bpf.h"
#include "control.bpf.h"
#include "departure.bpf.h"
#include "policies/registry.bpf.h"
#include "token.bpf.h"

/* Out of the device that departures leave by, or up the stack. */
static __always_inline int olaf_send(void)
{
	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return XDP_PASS;
	if (olaf_cfg.egress_ifindex == olaf_cfg.ifindex)
		return XDP_TX;
	return bpf_redirect(olaf_cfg.egress_ifindex, 0);
}

/* Can the arrival leave at once, were the link free? It can't while its next hop is unknown. */
static __always_inline int olaf_may_pass(struct xdp_md *ctx, const struct olaf_arrival *a,
					 struct olaf_slot *slot)
{
	struct olaf_entry *staged;
	struct olaf_nexthop hop;
	__be32 daddr_be[4];

	if (!olaf_needs_hop(a->update.routed))
		return 1;
	staged = olaf_stage(ctx, a->update.header_bytes, a->update.header_bytes);
	if (!staged)
		return 0;
	olaf_destination(daddr_be, staged, &a->update);
	olaf_hop_of(ctx, slot, daddr_be, olaf_outer_family(&a->update), a->now, &hop);
	return hop.state == OLAF_HOP_RESOLVED;
}

/*
 * Looks, without a lock, at what this arrival could do, and visits the ring if that is
 * more than to fold: v->got says what came of it. Returns 0, or -1 if a map is missing.
 */
__noinline int olaf_claim(struct xdp_md *ctx, struct olaf_arrival *a, struct olaf_visit *v)
{
	struct olaf_place *places = olaf_the_places();
	struct olaf_ring *ring = olaf_the_ring();
	struct olaf_head head = {};
	struct olaf_slot *slot;
	struct olaf_rule *rule;
	int waiting, due, late;
	__u64 tail;
	__u32 open;

	if (!a || !v || !ring || !places)
		return -1;
	slot = olaf_slot_at(a->update.slot);
	rule = olaf_rule_of(a->update.cluster);
	if (!slot || !rule)
		return -1;

	v->now = a->now;
	v->frame_bytes = a->frame_bytes;
	open = *(volatile __u32 *)&slot->open;
	v->want_place = !(olaf_policy_folds(rule->policy) && open);
	tail = *(volatile __u64 *)&ring->tail;
	v->head = olaf_first_waiting(places, *(volatile __u64 *)&ring->head, tail);
	waiting = v->head != tail;
	due = a->now >= *(volatile __u64 *)&ring->next_departure_ns;
	late = waiting && a->now > *(volatile __u64 *)&ring->lane_deadline_ns;

	if (waiting && due) {
		olaf_look_at_head(ctx, places, v->head, a->now, &head);
		v->may_depart = head.slot && head.hop == OLAF_HOP_RESOLVED;
		v->head_bytes = head.bytes;
		if (v->may_depart && head.bytes > a->frame_bytes)
			v->may_depart = !bpf_xdp_adjust_tail(ctx, head.bytes - a->frame_bytes);
		/* What it would fold into is about to leave: it will be a new entry. */
		if (v->may_depart && open && head.entry == 2 * a->update.slot + open - 1)
			v->want_place = 1;
	} else if (v->want_place) {
		v->may_pass = olaf_may_pass(ctx, a, slot);
		if (v->may_pass &&
		    ((!waiting && !olaf_cfg.ns_per_byte_q24) || olaf_draining())) {
			v->got = OLAF_GOT_PASSAGE; /* no pacing to keep: no lock to take */
			return 0;
		}
	}
	if (v->may_depart || v->want_place || late)
		olaf_visit_ring(ring, places, head.slot, v);
	if ((v->got & OLAF_GOT_DEPARTURE) && head.slot)
		olaf_close(head.slot, v->head_entry, 1);
	return 0;
}

/* The arrival found its entry gone after all: only a place, if there is one. */
__noinline int olaf_claim_place(struct olaf_visit *v)
{
	struct olaf_place *places = olaf_the_places();
	struct olaf_ring *ring = olaf_the_ring();

	if (!v || !ring || !places)
		return -1;
	v->may_depart = 0;
	v->may_pass = 0;
	v->want_place = 1;
	if (olaf_draining())
		v->got |= OLAF_GOT_FULL;
	else
		olaf_visit_ring(ring, places, NULL, v);
	return 0;
}

/*
 * Did a local socket leave the UDP checksum to the device (only the pseudo header's sum
 * is there)? Such a frame would reach a real link unfinished, so we finish it.
 */
static __always_inline int olaf_checksum_is_partial(struct olaf_entry *staged,
						    const struct olaf_pending *update)
{
	void *l3 = olaf_frame_of(staged, update->header_bytes) +
		   (update->l3_offset & (OLAF_MAX_HEADERS - 1));
	struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	const __be16 *addresses_be = l3 + 12;
	__u64 sum = 0;
	int i;

	if (update->family == 6) {
		addresses_be = l3 + 8;
		for (i = 4; i < 16; i++)
			sum += addresses_be[i];
	}
	for (i = 0; i < 4; i++)
		sum += addresses_be[i];
	sum += bpf_htons(IPPROTO_UDP) + udp->len;
	return udp->check == (__u16)~olaf_checksum_fold(sum);
}

/*
 * Nothing waits and the link is free: the frame leaves, unchanged where that is right
 * (local; bridged with a complete checksum). Returns an XDP verdict.
 */
__noinline int olaf_pass_through(struct xdp_md *ctx, struct olaf_arrival *a)
{
	__u32 header_bytes, new_bytes, load_bytes;
	struct olaf_nexthop hop = {};
	struct olaf_entry *staged;
	struct olaf_slot *slot;

	if (!a)
		return XDP_DROP;
	slot = olaf_slot_at(a->update.slot);
	if (!slot)
		return XDP_DROP;
	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		goto passed;

	/* IPv6 checksums cover the message, so that must be at hand. */
	header_bytes = a->update.header_bytes;
	load_bytes = header_bytes;
	if (olaf_outer_family(&a->update) == 6)
		load_bytes += a->message_bytes;
	staged = olaf_stage(ctx, header_bytes, load_bytes);
	if (!staged)
		goto unfit;
	if (!olaf_needs_hop(a->update.routed)) {
		if (!olaf_checksum_is_partial(staged, &a->update))
			goto passed;
	} else {
		__be32 daddr_be[4];

		olaf_destination(daddr_be, staged, &a->update);
		olaf_hop_of(ctx, slot, daddr_be, olaf_outer_family(&a->update), a->now, &hop);
		if (hop.state != OLAF_HOP_RESOLVED)
			goto unfit;
	}
	new_bytes = olaf_dress(staged, &a->update, &hop);
	if (new_bytes != header_bytes &&
	    bpf_xdp_adjust_head(ctx, (int)header_bytes - (int)new_bytes))
		goto unfit;
	new_bytes = olaf_clamp(new_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	if (bpf_xdp_store_bytes(ctx, 0, olaf_frame_of(staged, new_bytes), new_bytes))
		goto unfit;
passed:
	olaf_slot_passed(slot, a->update.count);
	return olaf_send();
unfit:
	bpf_spin_lock(&slot->lock);
	slot->counters.dropped_full++;
	slot->counters.updates_dropped += a->update.count;
	bpf_spin_unlock(&slot->lock);
	olaf_count(departures_unfit);
	return XDP_DROP;
}

/* The frame that arrived carries the head of the queue away. Returns an XDP verdict. */
__noinline int olaf_ride(struct xdp_md *ctx, struct olaf_visit *v)
{
	struct olaf_place *places = olaf_the_places();
	struct olaf_frame_out out = {};
	int delta, verdict;
	__u32 bytes;

	if (!v || !places || olaf_take_leave(ctx, v->head_entry, v->now, &out))
		return XDP_DROP;
	delta = (int)out.bytes - (int)bpf_xdp_get_buff_len(ctx);
	bytes = out.bytes;
	if (out.hop != OLAF_HOP_RESOLVED || (delta && bpf_xdp_adjust_tail(ctx, delta)))
		goto unfit;
	bytes = olaf_clamp(bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if (bpf_xdp_store_bytes(ctx, 0, olaf_frame_of(out.entry, out.header_bytes), bytes))
		goto unfit;
	verdict = olaf_send();
	goto vacate;
unfit:
	olaf_mourn(&out);
	verdict = XDP_DROP;
vacate:
	olaf_vacate(olaf_place_at(places, v->head), out.slot, v->head_entry);
	return verdict;
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
