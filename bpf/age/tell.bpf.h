/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the queue tells a listener, and when: called where it happens, only under
 * olaf_listened(), and never on the way of an update nobody listens to.
 */
#ifndef OLAF_TELL_BPF_H
#define OLAF_TELL_BPF_H

#include "bpf/age/events.bpf.h"
#include "bpf/arrival.bpf.h"
#include "bpf/order/ring.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "bpf/troubles.bpf.h"

/* Places taken at the moment: a hint. */
static __always_inline void olaf_tell_length(struct olaf_telling *telling)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (ring)
		telling->record.event.queue_length =
			READ_ONCE(ring->tail) - READ_ONCE(ring->head);
}

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

/*
 * A frame that is malformed, or refused. `reason` is OLAF_DROPPED_MALFORMED or OLAF_DROPPED_NOT_ALLOWED,
 * `cause` the enum of that, `bytes` how long the frame was when it came. `is_update`: the update at hand is
 * in it, else it is of no known cluster. OLAF_DEFINE_TELL_REFUSAL(NAME, CONTEXT, TAKE) defines NAME.
 */
#define OLAF_DEFINE_TELL_REFUSAL(NAME, CONTEXT, TAKE)                                             \
	__noinline int NAME(CONTEXT *ctx, __u32 reason, __u32 cause, __u32 bytes, __u32 is_update) \
	{                                                                                         \
		struct olaf_arrival *a = olaf_arrival_here();                                     \
		struct olaf_telling *telling;                                                     \
                                                                                                  \
		if (!a)                                                                           \
			return -1;                                                                \
		telling = olaf_event_begin(OLAF_EVENT_DROP, reason,                               \
					   is_update ? &a->update : NULL, bpf_ktime_get_ns());    \
		if (!telling)                                                                     \
			return 0;                                                                 \
		telling->record.event.cause = cause;                                              \
		olaf_tell_length(telling);                                                        \
		TAKE(ctx, telling, bytes);                                                        \
		olaf_event_send(telling);                                                         \
		return 0;                                                                         \
	}

OLAF_DEFINE_TELL_REFUSAL(olaf_tell_refusal, struct xdp_md, olaf_event_take_xdp)

/* Counts a frame that is malformed, and tells listeners. It was `bytes` long when it came. */
static __always_inline void olaf_refuse_malformed(struct xdp_md *ctx, __u32 cause, __u32 bytes)
{
	olaf_trouble_malformed(cause);
	if (olaf_listened_lately())
		olaf_tell_refusal(ctx, OLAF_DROPPED_MALFORMED, cause, bytes, 0);
}

/* Counts the arrival, whose frame is as it came, as not allowed, and tells listeners. */
static __always_inline void olaf_refuse_arrival(struct xdp_md *ctx, const struct olaf_arrival *a,
						__u32 cause, int is_update)
{
	olaf_trouble_not_allowed(cause, a->now);
	if (olaf_listened(a->now))
		olaf_tell_refusal(ctx, OLAF_DROPPED_NOT_ALLOWED, cause,
				  bpf_xdp_get_buff_len(ctx), is_update);
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
