/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A frame that is malformed, or refused, is counted here, and told to a listener: an update, or a
 * job's message.
 */
#ifndef OLAF_REFUSAL_BPF_H
#define OLAF_REFUSAL_BPF_H

#include "bpf/age/events.bpf.h"
#include "bpf/arrival.bpf.h"
#include "bpf/order/ring.bpf.h"
#include "bpf/troubles.bpf.h"

/* Places taken at the moment: a hint. */
static __always_inline void olaf_tell_length(struct olaf_telling *telling)
{
	struct olaf_ring *ring = olaf_the_ring();

	if (ring)
		telling->record.event.queue_length =
			READ_ONCE(ring->tail) - READ_ONCE(ring->head);
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

#endif /* OLAF_REFUSAL_BPF_H */
