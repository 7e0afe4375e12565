/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way to the parent: a message of this node's becomes the frame at hand.
 *
 * Its MAC address is the kernel's to know. Where the kernel doesn't, the frame goes up to TC
 * instead, which asks (copies.bpf.c); the message is sent again when a child repeats its own.
 * So does each frame to a parent behind another device: XDP may send by another device only where
 * both drivers take part in that, and TC always may.
 */
#ifndef OLAF_ROUND_UP_BPF_H
#define OLAF_ROUND_UP_BPF_H

#include "bpf/fib.bpf.h"
#include "bpf/rounds/parent_way.bpf.h"
#include "bpf/rounds/result.bpf.h"
#include "olaf/drain.h"

/* What the frame at hand does next. */
enum olaf_round_act {
	OLAF_ROUND_RIDE = 0, /* it may carry a result */
	OLAF_ROUND_SEND = 1, /* it is written: out of the device again */
	OLAF_ROUND_TO_TC = 2, /* it is an order for TC */
	OLAF_ROUND_LEAVE = 3, /* nothing: it is dropped */
};

/* The IP version of a job's parent; 0: there is none. */
static __always_inline __u32 olaf_parent_family(__u32 job_index)
{
	struct olaf_job *job = olaf_job_at(job_index);

	return job ? job->setup.parent_family : 0;
}

/*
 * The frame becomes an order for TC. Returns enum olaf_round_act. A function by itself, because its
 * order would lie on the stack of whatever else its callers call.
 */
__noinline int olaf_order_write(struct xdp_md *ctx, __u32 job, __u32 work)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_round_order order = {
		.eth_proto_be = bpf_htons(ETH_P_IP),
		.secret = OLAF_ROUND_SECRET(olaf_cfg.token_secret),
		.job = job,
		.work = work,
	};

	if (!a)
		return OLAF_ROUND_LEAVE;
	if (work == OLAF_ROUND_ONWARD && olaf_parent_family(job) == 6)
		order.eth_proto_be = bpf_htons(ETH_P_IPV6);
	order.partial = olaf_is_partial(a) ? a->update.header_bytes : 0;
	if (bpf_xdp_store_bytes(ctx, OLAF_TOKEN_OFFSET, &order, sizeof(order)))
		return OLAF_ROUND_LEAVE;
	return OLAF_ROUND_TO_TC;
}

/* The way to the job's parent, out of the queue's device. Returns whether it is known. */
static __always_inline int olaf_parent_way(struct xdp_md *ctx, const struct olaf_job *job,
					   struct olaf_round_way *way)
{
	const struct olaf_job_setup *setup = &job->setup;
	struct bpf_fib_lookup fib = {};

	if (olaf_fib_ask(ctx, &fib, olaf_cfg.ifindex, way->family, setup->source_addr_be,
			 setup->parent_addr_be))
		return 0;
	__builtin_memcpy(way->dmac, fib.dmac, ETH_ALEN);
	__builtin_memcpy(way->smac, fib.smac, ETH_ALEN);
	return 1;
}

/* The staged message, with the buffer's lanes or none, becomes the frame, to the parent. */
static __always_inline int olaf_up_put(struct xdp_md *ctx, const struct olaf_arrival *a,
				       const struct olaf_job *job, __u32 job_index,
				       struct olaf_entry *staged, const __u64 *lanes, __u32 count,
				       __u64 lanes_sum)
{
	__u32 header_bytes, elsewhere = job->setup.parent_ifindex;
	struct olaf_round_way way = {};

	olaf_parent_ends(job, &way);
	if (!elsewhere && !olaf_parent_way(ctx, job, &way))
		return olaf_order_write(ctx, job_index, OLAF_ROUND_ASK);
	header_bytes = olaf_round_dress(staged, count, lanes_sum, &way);
	if (!olaf_round_leave_partial(a, staged, header_bytes, way.family) ||
	    olaf_round_put(ctx, staged, header_bytes, lanes, count))
		return OLAF_ROUND_LEAVE;
	return elsewhere ? olaf_order_write(ctx, job_index, OLAF_ROUND_ONWARD) : OLAF_ROUND_SEND;
}

/*
 * The generation that the parent knows, for what was gathered in this one of the job's; 0: that is
 * over. The job's changes before the parent's does, so what is read first is no newer.
 */
static __always_inline __u32 olaf_parent_generation(struct olaf_job *job, __u32 generation)
{
#ifdef __TARGET_ARCH_x86
	__u32 parents = READ_ONCE(job->parent_generation); /* loads stay in order here */
#else
	__u32 parents = __sync_fetch_and_add(&job->parent_generation, 0);
#endif
	return READ_ONCE(job->generation) == generation ? parents : 0;
}

/*
 * The buffer's aggregate becomes the frame at hand, as this node's own contribution. Under its
 * slot's lock. Returns enum olaf_round_act.
 */
__noinline int olaf_up_write(struct xdp_md *ctx, __u32 buffer_index)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(buffer_index / OLAF_ROUND_BUFFERS);
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_buffer *buffer;
	struct olaf_job *job;
	__u64 sum = 0;
	__u32 count, generation;

	if (!slot || !lanes || !m || !a || !staged)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	if (!job)
		return OLAF_ROUND_LEAVE;
	buffer = &slot->buffer[buffer_index & 1];
	generation = olaf_parent_generation(job, buffer->generation);
	if (!generation)
		return OLAF_ROUND_LEAVE;
	count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	olaf_round_head(&staged->message, OLAF_CONTRIBUTION,
			job->setup.shape | (buffer->flags & OLAF_FLAG_PARTIAL) |
				(m->flags & OLAF_FLAG_FLUSH),
			count, job->setup.id, job->setup.rank);
	olaf_round_say(&staged->message, buffer);
	staged->message.generation_be = bpf_htonl(generation);
	staged->message.pool = 0;
	if (job->setup.parent_family == 6)
		sum = olaf_round_sum(buffer_index, count);
	return olaf_up_put(ctx, a, job, m->job, staged, lanes, count, sum);
}

#endif /* OLAF_ROUND_UP_BPF_H */
