/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Results that leave in clones of the skb at hand, by the queue's device. For TC programs. */
#ifndef OLAF_ROUND_CLONES_BPF_H
#define OLAF_ROUND_CLONES_BPF_H

#include "bpf/rounds/deliveries.bpf.h"
#include "bpf/rounds/headers.bpf.h"

/* Clones that one frame sends at most: the next one goes on. */
#define OLAF_MOST_COPIES 1024

struct olaf_copying {
	struct __sk_buff *skb;
	__u32 job;
	__u32 partial; /* header bytes of a frame whose checksum the device finishes; 0: none */
};

/*
 * Where the skb's UDP checksum is left to a device (`partial`), so is the staged message's: the device
 * adds up from where UDP began in the skb. Returns whether UDP begins there again.
 */
static __always_inline int olaf_copy_leave_partial(struct olaf_entry *staged, __u32 header_bytes,
						   __u32 family, __u32 partial)
{
	if (partial && partial != header_bytes)
		return 0;
	if (partial)
		olaf_round_sum_partly(staged, header_bytes, family);
	return 1;
}

/*
 * Stages the buffer's result for `rank`, or OLAF_EVERY_WORKER. Under its slot's lock. Returns bytes of
 * headers; 0: can't.
 */
static __always_inline __u32 olaf_copy_stage(struct olaf_entry *staged, const struct olaf_job *job,
					     __u32 job_index, struct olaf_round_buffer *buffer,
					     __u32 index, __u32 rank, __u32 partial)
{
	__u32 count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes), header_bytes;
	struct olaf_round_way way = {};
	__u64 sum = 0;

	if (!olaf_result_way(job, job_index, rank, buffer->round, &way))
		return 0;
	olaf_result_say(&staged->message, job, rank, buffer, count);
	if (olaf_udp_protects(job, way.family))
		sum = olaf_round_result_sum(buffer, index, count);
	header_bytes = olaf_round_dress(staged, count, sum, &way);
	return olaf_copy_leave_partial(staged, header_bytes, way.family, partial) ? header_bytes : 0;
}

/* The staged headers and message, and `count` lanes, become the skb. Returns 0, or -1: no memory. */
static __always_inline int olaf_copy_put(struct __sk_buff *skb, struct olaf_entry *staged,
					 __u32 header_bytes, const __u64 *lanes, __u32 count)
{
	__u32 head = olaf_clamp(header_bytes + sizeof(struct olaf_header), ETH_HLEN,
				OLAF_MAX_HEADERS + sizeof(struct olaf_header));
	__u32 bytes = olaf_clamp(8 * count, 8, 8 * olaf_cfg.max_lanes);

	if (bpf_skb_change_tail(skb, count ? head + bytes : head, 0) ||
	    bpf_skb_store_bytes(skb, 0, olaf_frame_of(staged, header_bytes), head, 0))
		return -1;
	return count && bpf_skb_store_bytes(skb, head, lanes, bytes, 0) ? -1 : 0;
}

/*
 * The delivery becomes the skb, for *taken members. Under its slot's lock. Returns whether it did.
 */
static __always_inline int olaf_copy_write(struct __sk_buff *skb, __u32 job_index, __u32 partial,
					   struct olaf_round_buffer *buffer,
					   struct olaf_delivery *delivery, __u32 *taken)
{
	__u32 index = delivery->buffer & ~OLAF_LINE_GROUP;
	__u64 *lanes = olaf_round_lanes_at(index);
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_entry *staged = olaf_staging();
	__u32 header_bytes;

	if (!lanes || !job || !staged)
		return 0;
	*taken = olaf_delivery_take(job, job_index, buffer, delivery);
	if (!*taken)
		return 0;
	header_bytes = olaf_copy_stage(staged, job, job_index, buffer, index, delivery->rank, partial);
	return header_bytes &&
	       !olaf_copy_put(skb, staged, header_bytes, lanes, job->setup.lanes);
}

/*
 * Sends the next result in line as a clone. Returns whether more may wait. A global function: verified once.
 */
__noinline int olaf_copy_one(struct __sk_buff *skb, __u32 job_index, __u32 partial)
{
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_delivery delivery = {};
	struct olaf_round_slot *slot;
	__u32 taken = 0;
	int written;

	if (!job)
		return 0;
	/* Behind many results that nobody is owed any more, others may wait: the next turn looks on. */
	if (!olaf_line_next(job, &delivery))
		return olaf_lines_wait(job);
	slot = olaf_round_slot_at((delivery.buffer & ~OLAF_LINE_GROUP) / OLAF_ROUND_BUFFERS);
	/* Nothing is taken, and the next frame goes on with it. */
	if (!slot || !olaf_lock(&slot->lock))
		return 0;
	written = olaf_copy_write(skb, job_index, partial, &slot->buffer[delivery.buffer & 1], &delivery,
				  &taken);
	olaf_unlock(&slot->lock);
	/* What the device refuses is asked for again by whoever misses it. */
	if (!written || bpf_clone_redirect(skb, olaf_cfg.ifindex, 0))
		olaf_count_job_by(job_index, undelivered, taken);
	else if (delivery.rank == OLAF_EVERY_WORKER)
		olaf_count_job(job_index, multicast);
	else
		olaf_count_job(job_index, copied);
	return 1;
}

static long olaf_copy_next(__u32 turn, struct olaf_copying *copying)
{
	(void)turn;
	/* What a global function returns is unknown to the verifier, which wants 0 or 1 here. */
	return olaf_clamp(!olaf_copy_one(copying->skb, copying->job, copying->partial), 0, 1);
}

#endif /* OLAF_ROUND_CLONES_BPF_H */
