/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A frame that is free carries the next result in line to whichever member is next: one frame in,
 * one frame out. Where more results wait than frames will come, TC sends the rest as clones.
 */
#ifndef OLAF_ROUND_CARRY_BPF_H
#define OLAF_ROUND_CARRY_BPF_H

#include "bpf/rounds/deliveries.bpf.h"
#include "bpf/rounds/frames.bpf.h"
#include "bpf/way/sent.bpf.h"

/* Deliveries that one frame tries: members that were never heard from can't be reached. */
#define OLAF_RIDE_TRIES 4

/* The result becomes the frame at hand. Returns enum olaf_written. Under its slot's lock. */
static __always_inline int olaf_deliver_in(struct xdp_md *ctx, const struct olaf_arrival *a,
					   const struct olaf_job *job, __u32 job_index,
					   const struct olaf_round_buffer *buffer,
					   const struct olaf_delivery *delivery)
{
	struct olaf_child *child = olaf_child_at(job_index, delivery->rank); /* NULL: for all */
	__u64 *lanes = olaf_round_lanes_at(delivery->buffer);
	struct olaf_plain_way way;

	if (!child || !lanes || !olaf_may_carry(a) || !olaf_plain_way(child, &way))
		return olaf_result_write(ctx, delivery->buffer, delivery->rank);
	return olaf_plain_put(ctx, a, job, delivery->rank, buffer, lanes, &way) ? OLAF_SPOILT :
										OLAF_WRITTEN;
}

/*
 * Writes the delivery into the frame at hand. Returns enum olaf_written; what can't be delivered is
 * counted.
 */
static __always_inline int olaf_deliver(struct xdp_md *ctx, const struct olaf_arrival *a,
					const struct olaf_job *job, __u32 job_index,
					const struct olaf_delivery *delivery)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(delivery->buffer / OLAF_ROUND_BUFFERS);
	__u32 is_for_all = delivery->rank == OLAF_EVERY_WORKER, taken = !is_for_all;
	struct olaf_round_buffer *buffer;
	int written = OLAF_UNREACHABLE;

	if (slot && olaf_lock(&slot->lock)) {
		buffer = &slot->buffer[delivery->buffer & 1];
		if (olaf_round_is_due(job, job_index, buffer, delivery)) {
			taken = olaf_delivery_take(job, job_index, buffer, delivery);
			if (taken)
				written = olaf_deliver_in(ctx, a, job, job_index, buffer, delivery);
		}
		olaf_unlock(&slot->lock);
	}
	if (written != OLAF_WRITTEN)
		olaf_count_job_by(job_index, undelivered, taken);
	else if (is_for_all)
		olaf_count_job(job_index, multicast);
	else
		olaf_count_job(job_index, riding);
	return written;
}

/* Carries what the frame at hand can. Returns enum olaf_round_act. */
static __always_inline int olaf_carry(struct xdp_md *ctx, const struct olaf_arrival *a,
				      const struct olaf_round_message *m, struct olaf_job *job)
{
	struct olaf_delivery delivery = {};
	int i, written;

	if (olaf_line_is_long(job, m))
		return olaf_order_write(ctx, m->job, OLAF_ROUND_COPY);
	if (!olaf_frame_holds(a, job))
		return OLAF_ROUND_LEAVE;
	for (i = 0; i < OLAF_RIDE_TRIES; i++) {
		if (!olaf_line_next(job, &delivery))
			return OLAF_ROUND_LEAVE;
		written = olaf_deliver(ctx, a, job, m->job, &delivery);
		if (written != OLAF_UNREACHABLE)
			return written == OLAF_WRITTEN ? OLAF_ROUND_SEND : OLAF_ROUND_LEAVE;
	}
	return OLAF_ROUND_LEAVE;
}

/* Sends the frame, which holds no update of the queue's, out of the device again. */
static __always_inline int olaf_send_back(void)
{
	olaf_sent_note(0);
	if ((olaf_cfg.flags & OLAF_CONFIG_BACK_BY_REDIRECT) &&
	    !(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE))
		return bpf_redirect(olaf_cfg.ifindex, 0);
	return XDP_TX;
}

/* The frame's message was met as `act` says: it leaves, and carries what it can. */
static __always_inline int olaf_round_end(struct xdp_md *ctx, const struct olaf_arrival *a,
					  const struct olaf_round_message *m, struct olaf_job *job,
					  int act)
{
	if (act == OLAF_ROUND_RIDE)
		act = olaf_carry(ctx, a, m, job);
	if (act == OLAF_ROUND_TO_TC)
		return XDP_PASS;
	return act == OLAF_ROUND_SEND ? olaf_send_back() : XDP_DROP;
}

#endif /* OLAF_ROUND_CARRY_BPF_H */
