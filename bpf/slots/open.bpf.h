/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An update of its own: it takes a buffer of its slot and a place in the ring. All of it under the
 * slot's lock.
 */
#ifndef OLAF_OPEN_BPF_H
#define OLAF_OPEN_BPF_H

#include "bpf/order/places.bpf.h"
#include "bpf/packet/ours.bpf.h"
#include "bpf/slots/slot.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "bpf/troubles.bpf.h"
#include "policies/decision.bpf.h"

/* Why an arrival found no buffer or no place. */
static __always_inline void olaf_count_unplaced(struct olaf_slot *slot, struct olaf_arrival *a,
						enum olaf_dropped reason)
{
	__u64 *dropped = &slot->counters.dropped_full;

	if (reason == OLAF_DROPPED_SEALED)
		dropped = &slot->counters.dropped_sealed;
	else if (reason == OLAF_DROPPED_MISFIT)
		dropped = &slot->counters.dropped_misfit;
	olaf_trouble_dropped(slot, dropped, a->update.count, a->now);
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_DROP, reason);
}

/* It has become a part of an entry. `appended`: by it the entry took its place in the ring. */
static __always_inline void olaf_count_joined(struct olaf_slot *slot, struct olaf_arrival *a,
					      int appended)
{
	if (appended)
		slot->counters.appended++;
	else
		slot->counters.aggregated++;
	a->outcome = OLAF_OUTCOME(OLAF_EVENT_ARRIVAL,
				  appended ? OLAF_JOINED_APPENDED : OLAF_JOINED_AGGREGATED);
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
 * Opens a buffer for the arrival and takes a place for it; seals the one that is open if `seals`.
 * All of that or, returning NULL, nothing. Under the slot's lock.
 */
static __always_inline struct olaf_entry *olaf_open(struct olaf_arrival *a, struct olaf_slot *slot,
						    __u32 seals, __u32 sealed)
{
	__u32 buffer = olaf_buffer_free(slot), entry = OLAF_NO_ENTRY;
	enum olaf_dropped reason = OLAF_DROPPED_FULL;
	__u64 position;

	if (seals)
		reason = OLAF_DROPPED_SEALED;
	else if (olaf_slot_gathers(slot))
		reason = OLAF_DROPPED_MISFIT;
	else if (buffer == OLAF_NO_BUFFER)
		reason = OLAF_DROPPED_SEALED;
	if (buffer != OLAF_NO_BUFFER)
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
	if (entry)
		olaf_count_joined(slot, a, 1);
	return entry;
}

#endif /* OLAF_OPEN_BPF_H */
