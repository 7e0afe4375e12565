/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An arrival is judged: merged into the waiting update of its slot as the policy says,
 * or appended as an entry of its own, or dropped. One critical section, its slot's.
 *
 * Folding, the common case, is inline from parse to verdict; the rest is one call away.
 *
 * Map olaf_rules: what each cluster's updates are judged by. Key cluster, value struct olaf_rule.
 * Writer: user space only (`olaf cluster`). Each field is read on its own, so a change takes
 * effect field by field, between two updates of a packet at the latest.
 */
#ifndef OLAF_ADMIT_BPF_H
#define OLAF_ADMIT_BPF_H

#include "bpf/slots/fold.bpf.h"
#include "bpf/slots/mergeable.bpf.h"
#include "bpf/slots/open.bpf.h"
#include "policies/registry.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_rule);
} olaf_rules SEC(".maps");

static __always_inline struct olaf_rule *olaf_rule_of(__u32 cluster)
{
	return bpf_map_lookup_elem(&olaf_rules, &cluster);
}

/* The side of an update that policies see. */
static __always_inline struct olaf_party olaf_party_of(const struct olaf_pending *update)
{
	struct olaf_party party = { update->worker, update->count, update->reward };

	return party;
}

/* What the policy says to an arrival that can be merged into the open update `waiting`. */
static __always_inline enum olaf_action olaf_judge(const struct olaf_pending *waiting,
						   const struct olaf_pending *update,
						   const struct olaf_rule *rule)
{
	struct olaf_party there = olaf_party_of(waiting), here = olaf_party_of(update);

	return olaf_decide(&there, &here, rule);
}

/*
 * All that isn't folding: `action` is the `policy`'s on the open entry in `buffer`, or 0 if
 * it can be merged into none. Under the slot's lock, which the caller holds.
 */
__noinline int olaf_settle(struct xdp_md *ctx, __u32 action, __u32 policy, __u32 buffer)
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
	if (olaf_is_damaged(ctx, a))
		return 0;
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
		entry = olaf_enter(a, slot, action, olaf_policy_folds(policy), buffer);
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

/*
 * Judges the arrival: what became of it is counted in its slot, and in a->outcome; or it is found to be
 * damaged, which a->integrity says then, and nothing is changed.
 */
static __always_inline void olaf_admit(struct xdp_md *ctx, struct olaf_arrival *a,
				       struct olaf_slot *slot, const struct olaf_rule *rule)
{
	__u32 folds = olaf_policy_folds(rule->policy), index, first, second, buffer;
	enum olaf_action action = 0;
	struct olaf_entry *entry;
	int merges = 0;

	a->sum = 0;
	if (a->integrity == OLAF_UNVERIFIED)
		olaf_sum_headers(ctx, a);
	if (!olaf_lock(&slot->lock)) {
		if (olaf_is_damaged(ctx, a))
			return;
		olaf_trouble_contended(a->update.count, a->now);
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
	if (action != OLAF_AGGREGATE || !entry) {
		olaf_settle(ctx, action, rule->policy, buffer);
	} else if (olaf_fold(ctx, a, slot, entry, index)) {
		a->integrity = OLAF_DAMAGED;
	} else {
		olaf_count_joined(slot, a, 0);
		a->integrity = OLAF_INTACT;
	}
	olaf_unlock(&slot->lock);
}

#endif /* OLAF_ADMIT_BPF_H */
