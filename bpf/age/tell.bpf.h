/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the queue tells a listener, and when: called where it happens, only under
 * olaf_listened(), and never on the way of an update nobody listens to.
 */
#ifndef OLAF_TELL_BPF_H
#define OLAF_TELL_BPF_H

#include "bpf/age/refusal.bpf.h"
#include "bpf/slots/entry.bpf.h"

/* What became of the update at hand, whose frame is still as it came: a->outcome. */
__noinline int olaf_tell_outcome(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_telling *telling;

	if (!a)
		return -1;
	telling = olaf_event_begin(OLAF_OUTCOME_KIND(a->outcome), OLAF_OUTCOME_DETAIL(a->outcome),
				   &a->update, a->now);
	if (!telling)
		return 0;
	olaf_tell_length(telling);
	olaf_event_take_xdp(ctx, telling, a->frame_bytes);
	olaf_event_send(telling);
	return 0;
}

/* The update at hand passes through, in the frame as it leaves. */
__noinline int olaf_tell_passage(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_telling *telling;

	if (!a)
		return -1;
	telling = olaf_event_begin(OLAF_EVENT_DEPARTURE, OLAF_LEFT_PASSED, &a->update, a->now);
	if (!telling)
		return 0;
	telling->record.event.first_arrived_ns = a->now;
	telling->record.event.arrived_ns = a->now;
	olaf_tell_length(telling);
	olaf_event_take_xdp(ctx, telling, bpf_xdp_get_buff_len(ctx));
	olaf_event_send(telling);
	return 0;
}

/*
 * Of a popped entry, between pop and vacate: that it left at `now`, or couldn't, or was lost. The
 * frame is what the context holds by now. OLAF_DEFINE_TELL_ENTRY(NAME, CONTEXT, TAKE) defines
 * NAME(ctx, entry's index, OLAF_OUTCOME(kind, detail), bytes of the frame, now).
 */
#define OLAF_DEFINE_TELL_ENTRY(NAME, CONTEXT, TAKE)                                               \
	__noinline int NAME(CONTEXT *ctx, __u32 index, __u32 outcome, __u32 bytes, __u64 now)     \
	{                                                                                         \
		struct olaf_entry *entry = olaf_entry_at(index);                                  \
		struct olaf_telling *telling;                                                     \
                                                                                                  \
		if (!entry)                                                                       \
			return -1;                                                                \
		telling = olaf_event_begin(OLAF_OUTCOME_KIND(outcome),                            \
					   OLAF_OUTCOME_DETAIL(outcome), &entry->pending, now);   \
		if (!telling)                                                                     \
			return 0;                                                                 \
		olaf_event_arrived(telling, &entry->pending);                                     \
		if (OLAF_OUTCOME_KIND(outcome) == OLAF_EVENT_LOSS)                                \
			telling->record.event.count = 1; /* frames */                             \
		olaf_tell_length(telling);                                                        \
		TAKE(ctx, telling, bytes);                                                        \
		olaf_event_send(telling);                                                         \
		return 0;                                                                         \
	}

#endif /* OLAF_TELL_BPF_H */
