/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An arrival is judged: merged into the waiting update of its slot as the policy
 * says, or put into a place of its own, or dropped. One critical section, the slot's.
 */
#ifndef OLAF_ADMIT_BPF_H
#define OLAF_ADMIT_BPF_H

#include "clusters.bpf.h"
#include "entry.bpf.h"
#include "lanes.bpf.h"
#include "policies/registry.bpf.h"
#include "ring.bpf.h"

enum olaf_outcome {
	OLAF_OUTCOME_DONE = 0, /* counted: the frame is free */
	OLAF_OUTCOME_WANTS_PLACE = 1, /* nothing done: come back with a place */
	OLAF_OUTCOME_BROKEN = 2, /* a map is missing: can't happen */
};

/* Where the lanes of an arrival are: in the linear frame, or staged in a map value. */
struct olaf_source {
	struct olaf_entry *staged; /* headers are always staged */
	const void *lanes; /* in the frame; NULL: in staged->lanes */
	const void *end; /* of the frame */
};

static __always_inline void olaf_lanes_fold(struct olaf_entry *entry, struct olaf_source *source,
					    __u32 lanes)
{
	if (source->lanes)
		olaf_lanes_add_frame(entry->lanes, source->lanes, source->end, lanes);
	else
		olaf_lanes_add(entry->lanes, source->staged->lanes, NULL, lanes);
}

static __always_inline void olaf_lanes_take(struct olaf_entry *entry, struct olaf_source *source,
					    __u32 lanes)
{
	if (source->lanes)
		olaf_lanes_copy_frame(entry->lanes, source->lanes, source->end, lanes);
	else
		olaf_lanes_copy(entry->lanes, source->staged->lanes, NULL, lanes);
}

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

/* What the slot's policy says to an arrival that finds `waiting` open. */
static __always_inline enum olaf_action olaf_judge(const struct olaf_pending *waiting,
						   const struct olaf_pending *update,
						   const struct olaf_rule *rule)
{
	struct olaf_party there = { waiting->worker, waiting->count, waiting->reward };
	struct olaf_party here = { update->worker, update->count, update->reward };

	if (waiting->lanes != update->lanes || waiting->flags != update->flags)
		return OLAF_SEAL;
	return olaf_decide(&there, &here, rule);
}

/*
 * Judges the arrival under its slot's lock. `granted` is what the ring gave: a place
 * (GOT_PLACE), its refusal (GOT_FULL) or nothing yet. A place that turns out not to be
 * needed is given back as VOID.
 */
static __always_inline enum olaf_outcome
olaf_admit_from(struct olaf_source *source, const struct olaf_pending *update, __u32 granted,
		__u64 position)
{
	__u32 first = 2 * update->slot, own = 0, chosen, open;
	__u32 lanes = olaf_clamp(update->lanes, 1, olaf_cfg.max_lanes);
	__u32 state = OLAF_PLACE_VOID, outcome = OLAF_OUTCOME_DONE;
	struct olaf_slot *slot = olaf_slot_at(update->slot);
	struct olaf_entry *even, *odd, *entry, *fixed = NULL;
	struct olaf_rule *configured, rule;
	enum olaf_action action = 0;
	struct olaf_place *places = olaf_the_places();

	configured = olaf_rule_of(update->cluster);
	even = olaf_entry_at(first);
	odd = olaf_entry_at(first + 1);
	if (!slot || !configured || !even || !odd || !places || lanes != update->lanes)
		return OLAF_OUTCOME_BROKEN;
	rule = *configured;
	if (!olaf_policy_folds(rule.policy)) {
		own = 2 * olaf_slots_configured() + (position & (olaf_cfg.ring_places - 1));
		fixed = olaf_entry_at(own);
		if (!fixed)
			return OLAF_OUTCOME_BROKEN;
	}

	bpf_spin_lock(&slot->lock);
	open = slot->open;
	entry = open == 2 ? odd : even;
	if (!fixed && open)
		action = olaf_judge(&entry->pending, update, &rule);

	if (action == OLAF_AGGREGATE) {
		olaf_pending_fold(&entry->pending, update);
		olaf_headers_copy(entry, source->staged);
		olaf_lanes_fold(entry, source, lanes);
		slot->counters.aggregated++;
	} else if (action == OLAF_DROP) {
		slot->counters.dropped_reward++;
		slot->counters.updates_dropped += update->count;
	} else {
		__u64 first_arrived_ns = update->arrived_ns;

		if (action == OLAF_REPLACE) {
			slot->counters.replaced++;
			slot->counters.updates_superseded += entry->pending.count;
			first_arrived_ns = entry->pending.first_arrived_ns;
		} else {
			/* A new entry: the place's own, or a buffer of the slot's. */
			chosen = fixed ? own : first + !!slot->busy[0];
			entry = fixed ? fixed : slot->busy[0] ? odd : even;
			if (!fixed && slot->busy[0] && slot->busy[1]) {
				slot->counters.dropped_sealed++;
				slot->counters.updates_dropped += update->count;
				goto unlock;
			}
			if (granted & OLAF_GOT_FULL) {
				if (action == OLAF_SEAL)
					slot->counters.dropped_sealed++;
				else
					slot->counters.dropped_full++;
				slot->counters.updates_dropped += update->count;
				goto unlock;
			}
			if (!(granted & OLAF_GOT_PLACE)) {
				outcome = OLAF_OUTCOME_WANTS_PLACE;
				goto unlock;
			}
			if (!fixed) {
				slot->busy[chosen & 1] = 1;
				slot->open = 1 + (chosen & 1);
			}
			slot->counters.appended++;
			own = chosen;
			state = OLAF_PLACE_READY;
		}
		entry->pending = *update;
		entry->pending.first_arrived_ns = first_arrived_ns;
		olaf_headers_copy(entry, source->staged);
		olaf_lanes_take(entry, source, lanes);
	}
unlock:
	bpf_spin_unlock(&slot->lock);

	if (granted & OLAF_GOT_PLACE)
		olaf_place_publish(olaf_place_at(places, position), own, state);
	return outcome;
}

/*
 * Stages what helpers must copy, then judges. Returns enum olaf_outcome.
 * A global function: verified once, and its stack is free again for the departure.
 */
__noinline int olaf_admit(struct xdp_md *ctx, struct olaf_arrival *a, struct olaf_visit *v)
{
	struct olaf_source source = {};
	__u32 header_bytes;
	__u64 bytes;
	void *data;

	if (!a || !v)
		return OLAF_OUTCOME_BROKEN;
	header_bytes = olaf_clamp(a->update.header_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	bytes = (__u64)header_bytes + a->message_bytes;
	data = (void *)(long)ctx->data;
	source.end = (void *)(long)ctx->data_end;
	if (data + bytes <= source.end) {
		source.lanes = data + header_bytes + sizeof(struct olaf_header);
		olaf_keep(source.lanes);
		bytes = header_bytes; /* lanes are read from the frame itself */
	}
	source.staged = olaf_stage(ctx, header_bytes, bytes);
	if (!source.staged)
		return OLAF_OUTCOME_BROKEN;
	return olaf_admit_from(&source, &a->update, v->got, v->place);
}

#endif /* OLAF_ADMIT_BPF_H */
