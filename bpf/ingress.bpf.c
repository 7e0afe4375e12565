// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The queue's entrance: XDP on the device that workers' updates arrive at.
 *
 *   parse -> allowed? -> claim what the ring has -> judge -> depart | token | done
 *       `-> a job's message: rounds.bpf.c
 *
 * Runs on every receive queue at once; see ring.bpf.h and slot.bpf.h for what orders
 * whom. No packet is trusted, and none that isn't an update for us is changed.
 */
#include "bpf/ack/learn.bpf.h"
#include "bpf/bound.bpf.h"
#include "bpf/depart/riding.bpf.h"
#include "bpf/packet/allow.bpf.h"
#include "bpf/packet/note.bpf.h"
#include "bpf/packet/checksum.bpf.h"
#include "bpf/packet/ours.bpf.h"
#include "bpf/packet/parse.bpf.h"
#include "bpf/rooms.bpf.h"
#include "bpf/slots/activity.bpf.h"
#include "bpf/slots/admit.bpf.h"
#include "bpf/troubles.bpf.h"
#include "bpf/way/wayout.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Is the update one that this queue takes? 0, or 1 + enum olaf_not_allowed. */
static __always_inline int olaf_refuse(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	struct olaf_rule *rule;

	if (a->update.cluster >= olaf_cfg.max_clusters)
		return 1 + OLAF_NOT_ALLOWED_CLUSTER;
	rule = olaf_rule_of(a->update.cluster);
	/* An aggregate of that many may have elements at their limits: one more could wrap. */
	if (!rule || a->update.count > READ_ONCE(rule->max_count))
		return 1 + OLAF_NOT_ALLOWED_COUNT;
	if (a->update.segments > olaf_cfg.max_segments)
		return 1 + OLAF_NOT_ALLOWED_SEGMENT;
	if (a->update.lanes > olaf_cfg.max_lanes || !olaf_fits_out(&a->update))
		return 1 + OLAF_NOT_ALLOWED_SIZE;
	if (!olaf_sender_allowed(ctx, a))
		return 1 + OLAF_NOT_ALLOWED_SOURCE;
	if (olaf_cfg.flags & OLAF_CONFIG_STRICT)
		return olaf_refuse_stranger(ctx, a);
	return 0;
}

/* Generic XDP sees a second time what the drain sends up the stack: known by its source address. */
static __always_inline int olaf_from_drain(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;

	return (olaf_cfg.flags & OLAF_CONFIG_SKB_MODE) && (void *)(eth + 1) <= end &&
	       olaf_is_mac(eth->h_source, olaf_cfg.drain_mac);
}

/*
 * Is there more to do than to judge? Something may pass, depart, or wake the drain.
 * Without a lock: olaf_claim() looks again with it.
 */
static __always_inline int olaf_may_claim(const struct olaf_arrival *a)
{
	struct olaf_ring *ring = olaf_the_ring();

	return ring && (!olaf_ring_waits(ring) || olaf_may_be_due(ring, a->now) ||
			olaf_token_late(ring, a->now) || olaf_emptying(a->now));
}

/* The update is whole: it counts as received, its cluster as active, and its worker as a member. */
static __always_inline void olaf_believe(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	olaf_count_received(a->update.count);
	olaf_mark_active(a->update.cluster, a->now);
	olaf_learn(ctx, a);
}

/*
 * The queue proper: what happens to an update that is ours. Returns an XDP verdict. One that is damaged
 * changes nothing; its frame may carry a departure, or become the token, as any other.
 */
static __always_inline int olaf_enqueue(struct xdp_md *ctx, struct olaf_arrival *a)
{
	struct olaf_rule *rule = olaf_rule_of(a->update.cluster);
	struct olaf_slot *slot;
	struct olaf_ring *ring;

	a->update.slot = a->update.cluster * olaf_cfg.max_segments + a->update.segment;
	a->update.arrived_ns = a->now;
	a->claim.got = 0;
	a->integrity = olaf_cfg.flags & OLAF_CONFIG_VERIFY ? OLAF_UNVERIFIED : OLAF_INTACT;
	slot = olaf_slot_at(a->update.slot);
	if (!slot || !rule)
		return XDP_DROP;

	if (olaf_may_claim(a))
		olaf_claim(ctx);
	if (!(a->claim.got & OLAF_GOT_PASSAGE) && a->integrity != OLAF_DAMAGED)
		olaf_admit(ctx, a, slot, rule);
	if (a->integrity == OLAF_DAMAGED) {
		olaf_refuse_malformed(ctx, OLAF_MALFORMED_UDP_CHECKSUM, a->frame_bytes);
	} else {
		olaf_believe(ctx, a);
		if (a->claim.got & OLAF_GOT_PASSAGE)
			return olaf_pass_through(ctx);
		if (olaf_listened(a->now))
			olaf_tell_outcome(ctx);
	}
	if (a->claim.got & OLAF_GOT_DEPARTURE) {
		ring = olaf_the_ring();
		if (ring)
			olaf_ring_release(ring);
		return olaf_ride(ctx);
	}
	if (a->claim.got & OLAF_GOT_TOKEN)
		return olaf_launch(ctx, a->claim.generation);
	if (a->claim.got & OLAF_GOT_PROBE)
		return olaf_ask_output(ctx);
	return XDP_DROP;
}

/* A message of a job: where there are jobs, the call doesn't come back. */
static __always_inline int olaf_to_rounds(struct xdp_md *ctx)
{
	if (olaf_cfg.round_slots)
		bpf_tail_call(ctx, &olaf_rooms, OLAF_ROOM_ROUNDS);
	olaf_trouble_bypassed(OLAF_BYPASS_JOB, bpf_ktime_get_ns());
	return XDP_PASS;
}

SEC("xdp.frags")
int olaf_ingress(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	int frame, foreign, refused;

	olaf_bring_reserve();
	if (!a)
		return XDP_PASS;
	a->beside = olaf_note_take();
	if (olaf_from_drain(ctx))
		return XDP_PASS;
	frame = olaf_parse(ctx, a);
	if (frame == OLAF_FRAME_BYPASS) {
		olaf_count(bypassed[OLAF_BYPASS_OTHER]);
		return XDP_PASS;
	}
	if (olaf_tag_is_hidden(ctx, a->beside)) {
		olaf_trouble_bypassed(OLAF_BYPASS_TAGGED, bpf_ktime_get_ns());
		return XDP_PASS;
	}
	if (frame == OLAF_FRAME_ROUND)
		return olaf_to_rounds(ctx);
	if (frame == OLAF_FRAME_UPDATE && !(olaf_cfg.flags & OLAF_CONFIG_VERIFY))
		frame = olaf_verify_bare(ctx, a);
	if (frame != OLAF_FRAME_UPDATE) {
		olaf_refuse_malformed(ctx, frame - OLAF_FRAME_MALFORMED,
				      bpf_xdp_get_buff_len(ctx));
		return XDP_DROP;
	}
	a->now = bpf_ktime_get_ns();
	foreign = olaf_is_foreign(ctx, a);
	if (foreign) {
		olaf_trouble_bypassed(foreign - 1, a->now);
		return XDP_PASS;
	}
	refused = olaf_refuse(ctx, a);
	if (refused) {
		olaf_refuse_arrival(ctx, a, refused - 1, 1);
		return XDP_DROP;
	}
	return olaf_enqueue(ctx, a);
}
