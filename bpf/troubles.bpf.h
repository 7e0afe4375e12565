/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What goes wrong is counted here, and noted with the time: no place counts without noting. Not
 * on the way of an update that is folded, passes or departs.
 */
#ifndef OLAF_TROUBLES_BPF_H
#define OLAF_TROUBLES_BPF_H

#include "bpf/counters.bpf.h"
#include "bpf/spells.bpf.h"

/* A frame with an update, or a job's message, is left alone: not for OLAF_BYPASS_OTHER. */
static __always_inline void olaf_trouble_bypassed(__u32 reason, __u64 now)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (counters && reason < OLAF_BYPASS_REASONS)
		counters->bypassed[reason]++;
	olaf_spell_note(OLAF_TROUBLE_BYPASSED, now);
}

/* Mostly seen before anybody has looked at the clock. */
static __always_inline void olaf_trouble_malformed(__u32 reason)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (counters && reason < OLAF_MALFORMED_REASONS)
		counters->malformed[reason]++;
	olaf_spell_note(OLAF_TROUBLE_MALFORMED, bpf_ktime_get_ns());
}

static __always_inline void olaf_trouble_not_allowed(__u32 reason, __u64 now)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (counters && reason < OLAF_NOT_ALLOWED_REASONS)
		counters->not_allowed[reason]++;
	olaf_spell_note(OLAF_TROUBLE_NOT_ALLOWED, now);
}

/* An update is dropped: one of its slot's counters, `*dropped`, says why. Under the slot's lock. */
static __always_inline void olaf_trouble_dropped(struct olaf_slot *slot, __u64 *dropped,
						 __u32 updates, __u64 now)
{
	(*dropped)++;
	slot->counters.updates_dropped += updates;
	olaf_spell_note(OLAF_TROUBLE_DROPPED, now);
}

/* An update is dropped because its slot's lock couldn't be had. */
static __always_inline void olaf_trouble_contended(__u32 updates, __u64 now)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (counters) {
		counters->dropped_contended++;
		counters->updates_contended += updates;
	}
	olaf_spell_note(OLAF_TROUBLE_DROPPED, now);
}

/* No frame could carry a departure. */
static __always_inline void olaf_trouble_unfit(__u64 now)
{
	olaf_count(departures_unfit);
	olaf_spell_note(OLAF_TROUBLE_UNFIT, now);
}

/* A departure of the drain is refused by its way out. */
static __always_inline void olaf_trouble_drain_loss(__u32 updates, __u64 now)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (counters) {
		counters->departures_refused++;
		counters->updates_refused += updates;
	}
	olaf_spell_note(OLAF_TROUBLE_LOST, now);
}

#endif /* OLAF_TROUBLES_BPF_H */
