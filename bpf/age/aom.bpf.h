/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_aom: the Age-of-Model of each (cluster, segment). Key: cluster x max_segments +
 * segment; value struct olaf_aom. A map of its own, not a part of the slot: folding touches
 * none of it.
 *
 * Writers: what leaves, once it is sure to leave, and nothing else. A popped departure writes
 * without a lock: its buffer is LEAVING until its copy is done, which keeps every other
 * departure of the slot out. An update that passes through writes under the slot's lock
 * while none is LEAVING. Readers: user space, see olaf/aom.h.
 */
#ifndef OLAF_AOM_BPF_H
#define OLAF_AOM_BPF_H

#include "bpf/age/clock.bpf.h"
#include "bpf/age/sawtooth.bpf.h"
#include "bpf/bound.bpf.h"
#include "bpf/control.bpf.h"
#include "bpf/counters.bpf.h"
#include "bpf/slots/slot.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters x max_segments, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_aom);
} olaf_aom SEC(".maps");

static __always_inline int olaf_meters(void)
{
	return !(olaf_cfg.flags & OLAF_CONFIG_NO_METER);
}

/* Sets a word of the sequence. It is ordered against the stores before and behind it. */
static __always_inline void olaf_aom_mark(__u64 *word, __u64 value)
{
#ifdef __TARGET_ARCH_x86
	asm volatile("" ::: "memory");
	WRITE_ONCE(*word, value);
	asm volatile("" ::: "memory");
#else
	__sync_lock_test_and_set(word, value);
#endif
}

/* What seldom happens, as global functions: verified once, not wherever something departs. */
__noinline int olaf_aom_forget(__u32 slot)
{
	struct olaf_aom *aom = bpf_map_lookup_elem(&olaf_aom, &slot);

	if (aom)
		olaf_age_forget(aom);
	return 0;
}

__noinline int olaf_aom_turn(__u32 slot, __u64 now)
{
	struct olaf_aom *aom = bpf_map_lookup_elem(&olaf_aom, &slot);

	if (aom)
		olaf_age_turn(aom, now);
	return 0;
}

/* Meters a departure. The caller is the slot's one writer. */
static __always_inline void olaf_aom_write(__u32 slot, const struct olaf_metered *update, __u64 now)
{
	struct olaf_aom *aom = bpf_map_lookup_elem(&olaf_aom, &slot);

	if (!aom)
		return;
	olaf_aom_mark(&aom->begun, aom->ended + 1);
	if (aom->first_ns < olaf_figures_from())
		olaf_aom_forget(slot);
	if (olaf_age_turns(aom, now))
		olaf_aom_turn(slot, now);
	olaf_meter(aom, update, now, olaf_tai_offset(now));
	olaf_aom_mark(&aom->ended, aom->ended + 1);
}

static __always_inline void olaf_metered_of(struct olaf_metered *metered,
					    const struct olaf_pending *update)
{
	metered->first_arrived_ns = update->first_arrived_ns;
	metered->arrived_ns = update->arrived_ns;
	metered->generated_ns = update->generated_ns;
	metered->count = update->count;
	metered->model_version = update->model_version;
}

/* A popped entry left. Between pop and vacate. */
static __always_inline void olaf_aom_departed(const struct olaf_pending *update, __u64 now)
{
	struct olaf_metered metered;

	if (!olaf_meters())
		return;
	olaf_metered_of(&metered, update);
	olaf_aom_write(update->slot, &metered, now);
}

struct olaf_passage {
	struct olaf_slot *slot;
	__u32 taken;
};

/* Takes the slot's lock if no departure is in flight. */
static long olaf_aom_look(__u32 round, struct olaf_passage *passage)
{
	struct olaf_slot *slot = passage->slot;

	(void)round;
	if (olaf_slot_is_leaving(slot) || READ_ONCE(slot->lock) ||
	    __sync_lock_test_and_set(&slot->lock, 1))
		return 0;
	if (!olaf_slot_is_leaving(slot)) {
		passage->taken = 1;
		return 1;
	}
	olaf_unlock(&slot->lock);
	return 0;
}

/*
 * An update of `slot` passed through. Another CPU may still copy out a departure of the same
 * slot: that is waited for, as for a lock, and given up as late. What passed then isn't
 * metered, and that is counted.
 */
static __always_inline void olaf_aom_passed(struct olaf_slot *slot,
					    const struct olaf_pending *update, __u64 now)
{
	struct olaf_passage passage = { slot, 0 };
	struct olaf_metered metered;

	if (!olaf_meters())
		return;
	if (!olaf_aom_look(0, &passage)) {
		bpf_loop(olaf_lock_patience(), olaf_aom_look, &passage, olaf_no_loop_flags());
		olaf_lock_waited(passage.taken);
	}
	if (!passage.taken) {
		olaf_count(passages_unmetered);
		return;
	}
	olaf_metered_of(&metered, update);
	metered.first_arrived_ns = now; /* it never waited */
	olaf_aom_write(update->slot, &metered, now);
	olaf_unlock(&slot->lock);
}

#endif /* OLAF_AOM_BPF_H */
