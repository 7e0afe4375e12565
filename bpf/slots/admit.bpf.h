/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An arrival is judged: merged into the waiting update of its slot as the policy says,
 * or appended as an entry of its own, or dropped. One critical section, its slot's.
 *
 * Folding, the common case, is inline from parse to verdict; the rest is one call away.
 */
#ifndef OLAF_ADMIT_BPF_H
#define OLAF_ADMIT_BPF_H

#include "bpf/counters.bpf.h"
#include "bpf/order/control.bpf.h"
#include "bpf/order/places.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/ours.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/slots/buffers.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "bpf/slots/mergeable.bpf.h"
#include "policies/registry.bpf.h"

/* The fields of protocol.md's "after folding" column. */
static __always_inline void olaf_pending_fold(struct olaf_pending *waiting,
					      const struct olaf_pending *update)
{
	waiting->worker = update->worker;
	waiting->sequence = update->sequence;
	waiting->count += update->count;
	waiting->reward += update->reward;
	if (waiting->generated_ns < update->generated_ns)
		waiting->generated_ns = update->generated_ns;
	if (waiting->model_version > update->model_version)
		waiting->model_version = update->model_version;
	waiting->segments = update->segments;
	waiting->header_bytes = update->header_bytes;
	waiting->l3_offset = update->l3_offset;
	waiting->l4_offset = update->l4_offset;
	waiting->family = update->family;
	waiting->routed = update->routed;
	waiting->arrived_ns = update->arrived_ns;
}

/* What the policy says to an arrival that can be merged into the open update `waiting`. */
static __always_inline enum olaf_action olaf_judge(const struct olaf_pending *waiting,
						   const struct olaf_pending *update,
						   const struct olaf_rule *rule)
{
	struct olaf_party there = { waiting->worker, waiting->count, waiting->reward };
	struct olaf_party here = { update->worker, update->count, update->reward };

	return olaf_decide(&there, &here, rule);
}

/* The entry's frame has another length than its place says: other headers than before. */
static __always_inline void olaf_place_resize(struct olaf_slot *slot, __u32 buffer,
					      const struct olaf_arrival *a)
{
	struct olaf_place *place = olaf_place_at(slot->position[buffer & 1]);

	if (place)
		place->bytes = a->update.header_bytes + a->message_bytes;
}

/* Folds lanes that aren't all in the linear part of the frame: through the staging area. */
__noinline int olaf_fold_staged(struct xdp_md *ctx, __u32 index)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry = olaf_entry_at(index), *staged = olaf_staging();
	const __u64 *from;
	__u64 *to;
	int i;

	if (!a || !entry || !staged || olaf_entry_fill(ctx, staged, a))
		return -1;
	to = (__u64 *)entry->headers;
	from = (const __u64 *)staged->headers;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_MAX_HEADERS / 8; i++)
		to[i] = from[i];
	olaf_lanes_add(entry->lanes, staged->lanes, NULL,
		       olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes));
	return 0;
}

/* Adds the arrival to the slot's open entry. Under the slot's lock. */
static __always_inline void olaf_fold(struct xdp_md *ctx, struct olaf_arrival *a,
				      struct olaf_slot *slot, struct olaf_entry *entry,
				      __u32 index)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	__u32 lanes = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *from = data + header_bytes + sizeof(struct olaf_header);

	olaf_keep(from);
	if (entry->pending.header_bytes != a->update.header_bytes)
		olaf_place_resize(slot, olaf_buffer_of(index), a);
	olaf_pending_fold(&entry->pending, &a->update);
	slot->counters.aggregated++;
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_ARRIVAL, OLAF_JOINED_AGGREGATED);
	if (from + 8 * lanes <= end) {
		olaf_headers_take(entry, data, end, header_bytes);
		olaf_lanes_add_frame(entry->lanes, from, end, lanes);
	} else {
		olaf_fold_staged(ctx, index);
	}
}

/* Why an arrival found no buffer or no place. */
static __always_inline void olaf_count_unplaced(struct olaf_slot *slot, struct olaf_arrival *a,
						enum olaf_dropped reason)
{
	if (reason == OLAF_DROPPED_SEALED)
		slot->counters.dropped_sealed++;
	else if (reason == OLAF_DROPPED_MISFIT)
		slot->counters.dropped_misfit++;
	else
		slot->counters.dropped_full++;
	slot->counters.updates_dropped += a->update.count;
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, reason);
}

/* Takes a place for the arrival's entry: returns the entry, or OLAF_NO_ENTRY. */
static __always_inline __u32 olaf_take_place(struct olaf_arrival *a, __u32 entry, __u64 *position)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (!ring)
		return OLAF_NO_ENTRY;
	return olaf_ring_append(ring, a->update.slot, entry,
				a->update.header_bytes + a->message_bytes, a->hop, a->now,
				&a->claim, position);
}

/* An update of its own, in an entry that comes with the place. NULL: there is no place. */
static __always_inline struct olaf_entry *olaf_append(struct olaf_arrival *a,
						      struct olaf_slot *slot)
{
	__u64 position;
	__u32 entry = olaf_take_place(a, OLAF_ENTRY_OF_PLACE, &position);

	if (entry == OLAF_NO_ENTRY) {
		olaf_count_unplaced(slot, a, OLAF_DROPPED_FULL);
		return NULL;
	}
	return olaf_entry_at(entry);
}

/*
 * Opens a buffer for the arrival and takes a place for it; seals the one that is open if
 * `seals`. All of that or, returning NULL, nothing. Under the slot's lock.
 */
static __always_inline struct olaf_entry *olaf_open(struct olaf_arrival *a, struct olaf_slot *slot,
						    __u32 seals, __u32 sealed)
{
	__u32 buffer = olaf_buffer_free(slot), entry;
	enum olaf_dropped reason = OLAF_DROPPED_FULL;
	__u64 position;

	if (seals)
		reason = OLAF_DROPPED_SEALED;
	else if (olaf_slot_gathers(slot))
		reason = OLAF_DROPPED_MISFIT;
	else if (buffer == OLAF_NO_BUFFER)
		reason = OLAF_DROPPED_SEALED;
	if (buffer == OLAF_NO_BUFFER) {
		olaf_count_unplaced(slot, a, reason);
		return NULL;
	}
	entry = olaf_take_place(a, olaf_entry_of(a->update.slot, buffer), &position);
	if (entry == OLAF_NO_ENTRY) {
		olaf_count_unplaced(slot, a, reason);
		return NULL;
	}
	if (seals)
		slot->buffers[sealed & 1] = OLAF_BUFFER_SEALED;
	slot->buffers[buffer & 1] = OLAF_BUFFER_OPEN;
	slot->position[buffer & 1] = position;
	return olaf_entry_at(entry);
}

/* The arrival becomes an entry of its own, if it can. `action`, `buffer`: as for olaf_settle(). */
static __always_inline struct olaf_entry *olaf_enter(struct olaf_arrival *a,
						     struct olaf_slot *slot, __u32 action,
						     __u32 folds, __u32 buffer)
{
	struct olaf_entry *entry;

	/* What it was to be folded into has left meanwhile, and nothing new shall wait. */
	if (a->claim.got & OLAF_GOT_WAY_ON) {
		a->claim.got |= OLAF_GOT_PASSAGE;
		return NULL;
	}
	entry = folds ? olaf_open(a, slot, action == OLAF_SEAL, buffer) : olaf_append(a, slot);
	if (!entry)
		return NULL;
	slot->counters.appended++;
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_ARRIVAL, OLAF_JOINED_APPENDED);
	return entry;
}

/* Key of the arrival's next hop in olaf_hops, if next hops may differ. */
static __always_inline __u32 olaf_hop_of_arrival(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	__be32 addr_be[4] = {};

	if (olaf_cfg.deliver != OLAF_DELIVER_FORWARD || !a->update.routed ||
	    olaf_target_read(ctx, a, addr_be))
		return OLAF_NO_HOP;
	return olaf_hop_index(addr_be);
}

/*
 * All that isn't folding: `action` is the policy's on the open entry in `buffer`, or 0 if
 * it can be merged into none. Under the slot's lock, which the caller holds.
 */
__noinline int olaf_settle(struct xdp_md *ctx, __u32 action, __u32 folds, __u32 buffer)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry;
	struct olaf_slot *slot;
	__u64 first_arrived_ns;

	if (!a)
		return -1;
	slot = olaf_slot_at(a->update.slot);
	if (!slot)
		return -1;
	first_arrived_ns = a->now;
	if (action == OLAF_DROP) {
		slot->counters.dropped_reward++;
		slot->counters.updates_dropped += a->update.count;
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_REWARD);
		return 0;
	}
	if (action == OLAF_REPLACE) {
		entry = olaf_entry_at(olaf_entry_of(a->update.slot, buffer));
		if (!entry)
			return -1;
		slot->counters.replaced++;
		slot->counters.updates_superseded += entry->pending.count;
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_ARRIVAL, OLAF_JOINED_REPLACED);
		first_arrived_ns = entry->pending.first_arrived_ns;
		olaf_place_resize(slot, buffer, a);
	} else {
		a->hop = olaf_hop_of_arrival(ctx, a);
		entry = olaf_enter(a, slot, action, folds, buffer);
		if (!entry)
			return 0;
	}
	entry->pending = a->update;
	entry->pending.first_arrived_ns = first_arrived_ns;
	return olaf_entry_fill(ctx, entry, a);
}

/* Both buffers are open, and the arrival doesn't fit the first: does it fit the second? */
__noinline int olaf_mergeable_second(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry;

	if (!a)
		return 0;
	entry = olaf_entry_at(olaf_entry_of(a->update.slot, 1));
	return entry && olaf_mergeable(ctx, a, entry);
}

/* Judges the arrival: what became of it is counted in its slot, and in a->outcome. */
static __always_inline void olaf_admit(struct xdp_md *ctx, struct olaf_arrival *a,
				       struct olaf_slot *slot, const struct olaf_rule *rule)
{
	__u32 folds = olaf_policy_folds(rule->policy), index, first, second, buffer;
	enum olaf_action action = 0;
	struct olaf_entry *entry;
	int merges = 0;

	if (!olaf_lock(&slot->lock)) {
		olaf_count_contended(a->update.count);
		a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, OLAF_DROPPED_CONTENDED);
		return;
	}
	first = olaf_buffer_is_open(slot, 0);
	second = olaf_buffer_is_open(slot, 1);
	buffer = !first && second;
	index = olaf_entry_of(a->update.slot, buffer);
	entry = olaf_entry_at(index);
	if (folds && (first || second) && entry) {
		merges = olaf_mergeable(ctx, a, entry);
		if (!merges && first && second && olaf_mergeable_second(ctx)) {
			buffer = 1;
			index = olaf_entry_of(a->update.slot, buffer);
			entry = olaf_entry_at(index);
			merges = 1;
		}
	}
	if (merges && entry)
		action = olaf_judge(&entry->pending, &a->update, rule);
	if (action == OLAF_AGGREGATE && entry)
		olaf_fold(ctx, a, slot, entry, index);
	else
		olaf_settle(ctx, action, folds, buffer);
	olaf_unlock(&slot->lock);
}

#endif /* OLAF_ADMIT_BPF_H */
