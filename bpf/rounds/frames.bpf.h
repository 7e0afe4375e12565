/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The frame at hand, which XDP makes a message of this node's: the result of a chunk for a child, STALE,
 * an aggregate for the parent, or an order for TC. Global functions, verified once: each writes the frame,
 * and the caller sends it.
 *
 * The parent's MAC address is the kernel's to know. Where the kernel doesn't, the frame goes up to TC
 * instead, which asks (copies.bpf.c); the message is sent again when a child repeats its own. So does each
 * frame to a parent behind another device: XDP may send by another device only where both drivers take
 * part in that, and TC always may.
 */
#ifndef OLAF_ROUND_FRAMES_BPF_H
#define OLAF_ROUND_FRAMES_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/fib.bpf.h"
#include "bpf/packet/partial.bpf.h"
#include "bpf/rounds/headers.bpf.h"
#include "bpf/rounds/message.bpf.h"
#include "olaf/drain.h"

/* What the frame at hand does next. */
enum olaf_round_act {
	OLAF_ROUND_RIDE = 0, /* it may carry a result */
	OLAF_ROUND_SEND = 1, /* it is written: out of the device again */
	OLAF_ROUND_TO_TC = 2, /* it is an order for TC */
	OLAF_ROUND_LEAVE = 3, /* nothing: it is dropped */
};

/*
 * The staged headers and message, `header_bytes` and a header, become the frame, with so many lanes
 * behind them. Returns 0, or -1: the frame can't be that long, and is spoilt.
 */
static __always_inline int olaf_round_put(struct xdp_md *ctx, struct olaf_entry *staged,
					  __u32 header_bytes, const __u64 *lanes, __u32 count)
{
	__u32 head = olaf_clamp(header_bytes + sizeof(struct olaf_header), ETH_HLEN,
				OLAF_MAX_HEADERS + sizeof(struct olaf_header));
	__u32 bytes = olaf_clamp(8 * count, 8, 8 * olaf_cfg.max_lanes);
	int delta = (int)head - (int)bpf_xdp_get_buff_len(ctx);

	if (count)
		delta += bytes;
	if ((delta && bpf_xdp_adjust_tail(ctx, delta)) ||
	    bpf_xdp_store_bytes(ctx, 0, olaf_frame_of(staged, header_bytes), head))
		return -1;
	return count && bpf_xdp_store_bytes(ctx, head, (void *)lanes, bytes) ? -1 : 0;
}

/* What became of a frame that a result was to be written into. */
enum olaf_written {
	OLAF_WRITTEN = 0,
	OLAF_UNREACHABLE = 1, /* the member's address isn't known: the frame is as it was */
	OLAF_SPOILT = 2, /* it can't be made long enough */
};

/* The longest result that a frame without lanes has room for: it grows within its page. */
#define OLAF_GROWN_LANES 400

/* Can the frame hold a result of the job's, as a contribution can, and another frame a short one? */
static __always_inline int olaf_frame_holds(const struct olaf_arrival *a, const struct olaf_job *job)
{
	return a->update.lanes || job->setup.lanes <= OLAF_GROWN_LANES;
}

/*
 * In generic mode an skb may leave its UDP checksum to the device, which adds up from where UDP
 * began. Then UDP must begin there again. Returns whether the frame can carry the message.
 */
static __always_inline int olaf_round_leave_partial(const struct olaf_arrival *a,
						    struct olaf_entry *staged, __u32 header_bytes,
						    __u32 family)
{
	if (!olaf_is_partial(a))
		return olaf_may_carry(a);
	if (header_bytes != a->update.header_bytes)
		return 0;
	olaf_round_sum_partly(staged, header_bytes, family);
	return 1;
}

/* The staged message, with headers for its way and lanes that add up to `sum`, becomes the frame. */
static __always_inline int olaf_staged_put(struct xdp_md *ctx, const struct olaf_arrival *a,
					   struct olaf_entry *staged, const __u64 *lanes,
					   __u32 count, __u64 sum, const struct olaf_round_way *way)
{
	__u32 header_bytes = olaf_round_dress(staged, count, sum, way);

	return !olaf_round_leave_partial(a, staged, header_bytes, way->family) ||
			       olaf_round_put(ctx, staged, header_bytes, lanes, count) ?
		       OLAF_SPOILT :
		       OLAF_WRITTEN;
}

/*
 * The buffer's result for `rank`, or OLAF_EVERY_WORKER, becomes the frame at hand. Under its slot's
 * lock. Returns enum olaf_written.
 */
__noinline int olaf_result_write(struct xdp_md *ctx, __u32 buffer_index, __u32 rank)
{
	struct olaf_round_buffer *buffer = olaf_round_buffer_at(buffer_index);
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	struct olaf_job *job;
	__u64 sum = 0;
	__u32 count;

	if (!buffer || !lanes || !m || !a || !staged)
		return OLAF_UNREACHABLE;
	job = olaf_job_at(m->job);
	if (!job || !olaf_result_way(job, m->job, rank, buffer->round, &way))
		return OLAF_UNREACHABLE;
	count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	olaf_result_say(&staged->message, job, rank, buffer, count);
	if (olaf_udp_protects(job, way.family))
		sum = olaf_round_result_sum(buffer, buffer_index, count);
	return olaf_staged_put(ctx, a, staged, lanes, count, sum, &way);
}

/* The way of an answer to the message at hand. Returns whether there is one. */
static __always_inline int olaf_answer_way(const struct olaf_round_message *m,
					   struct olaf_round_way *way)
{
	if (!m->to_source)
		return olaf_child_way(m->job, m->rank, way);
	olaf_round_way_to(way, &m->sender);
	return 1;
}

/* Has such an answer a number of members in the place of the job's shape? */
static __always_inline int olaf_counts_members(const struct olaf_round_message *m)
{
	return m->exponent == OLAF_CONTROL_WAIT || m->exponent == OLAF_CONTROL_OTHER;
}

/* A CONTROL message of this node's: an answer, or a question to its parent, as *m says. */
static __always_inline void olaf_control_say(struct olaf_header *header,
					     const struct olaf_job *job,
					     const struct olaf_round_message *m, __u32 flags,
					     __u32 rank)
{
	olaf_round_head(header, OLAF_CONTROL, flags, 0, job->setup.id, rank);
	header->sequence_be = bpf_htonl(m->round);
	header->action_be = bpf_htonl(m->action);
	header->generated_ns_be = bpf_cpu_to_be64(m->generated_ns);
	header->chunk_be = bpf_htonl(m->chunk);
	if ((flags & OLAF_FLAG_ANSWER) && !olaf_counts_members(m))
		olaf_tell_shape(header, job);
	else
		header->missing_be = bpf_htonl(m->chunks);
	header->generation_be = bpf_htonl(m->generation);
	header->status_be = bpf_htons(m->exponent);
	header->pool = m->pool;
}

/*
 * The answer to a contribution that is not added becomes the frame, to its sender. Returns enum
 * olaf_written. *m says the rest, and `flag` why:
 *
 *   OLAF_FLAG_STALE   the contribution's chunk is over, or its generation: both are named. Whoever isn't where
 *                     the rank is doesn't hear the job's: 0 is told in its place
 *   OLAF_FLAG_MISFIT  two members' vectors differ: olaf_misfit_read()
 *   0                 the sender is no member. The answer to a LEAVE that it never sent
 */
__noinline int olaf_refusal_write(struct xdp_md *ctx, __u32 flag)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	struct olaf_header *header;
	struct olaf_job *job;

	if (!m || !a || !staged)
		return OLAF_UNREACHABLE;
	job = olaf_job_at(m->job);
	if (!job || !olaf_answer_way(m, &way))
		return OLAF_UNREACHABLE;
	header = &staged->message;
	if (!flag) {
		m->action = OLAF_CONTROL_LEAVE;
		m->exponent = OLAF_CONTROL_GONE;
		m->pool = READ_ONCE(job->pool);
		olaf_control_say(header, job, m, OLAF_FLAG_ANSWER, m->rank);
	} else {
		olaf_result_head(header, job, m->rank, flag, 0,
				 m->to_source ? 0 : READ_ONCE(job->generation));
		header->workers_be = bpf_htons(m->vector >> 16);
		header->sequence_be = bpf_htonl(m->round);
		header->chunk_be = bpf_htonl(m->chunk);
		header->chunks_be = bpf_htonl(m->chunks);
		header->named_be = bpf_htonl(m->action);
		header->generated_ns_be = bpf_cpu_to_be64(m->generated_ns);
		header->exponent_be = 0;
	}
	return olaf_staged_put(ctx, a, staged, NULL, 0, 0, &way);
}

/*
 * A result over IPv4 without tags and with a checksum lane, which nearly every one is: its headers are
 * written where they belong in the frame, once. Each call of the kernel that this leaves out is a fiftieth
 * of a contribution. Whatever is less plain goes through the staging area (olaf_result_write).
 */

/* The way back to a child, of one moment. */
struct olaf_plain_way {
	__be32 saddr_be;
	__be32 daddr_be;
	__be16 dest_be;
	__be16 dmac_be[3];
};

/* Reads the way. Returns 0 where it isn't plain, is being written just now, or isn't known. */
static __always_inline int olaf_plain_way(struct olaf_child *child, struct olaf_plain_way *way)
{
	struct olaf_member *member = &child->member;
	const __be16 *mac_be = (const __be16 *)member->mac;
	__u32 sequence = READ_ONCE(member->sequence);

	olaf_member_barrier(member);
	if ((sequence & 1) || member->family != 4 || member->tags || !member->port_be ||
	    !member->last_seen_ns)
		return 0;
	way->saddr_be = member->local_addr_be[0];
	way->daddr_be = member->addr_be[0];
	way->dest_be = member->port_be;
	way->dmac_be[0] = mac_be[0];
	way->dmac_be[1] = mac_be[1];
	way->dmac_be[2] = mac_be[2];
	olaf_member_barrier(member);
	return READ_ONCE(member->sequence) == sequence;
}

/* Ethernet, IP and UDP around a message of so many bytes, which begins with `header`. */
static __always_inline void olaf_plain_dress(void *header, __u32 bytes,
					     const struct olaf_plain_way *way)
{
	const volatile __be16 *smac_be = (const volatile __be16 *)olaf_cfg.mac;
	__be16 *frame = header - OLAF_MIN_HEADERS; /* in words: two addresses and the EtherType */
	struct olaf_ends ends;

	frame[0] = way->dmac_be[0];
	frame[1] = way->dmac_be[1];
	frame[2] = way->dmac_be[2];
	frame[3] = smac_be[0];
	frame[4] = smac_be[1];
	frame[5] = smac_be[2];
	frame[6] = bpf_htons(ETH_P_IP);
	ends.saddr_be[0] = way->saddr_be;
	ends.daddr_be[0] = way->daddr_be;
	ends.source_be = olaf_cfg.port_be;
	ends.dest_be = way->dest_be;
	olaf_compose4(header, bytes, &ends);
}

/*
 * The buffer's result for `rank` becomes the frame at hand, which is as it arrived. Returns 0, or
 * -1: it can't be that long, and is spoilt. Under the slot's lock.
 */
static __always_inline int olaf_plain_put(struct xdp_md *ctx, const struct olaf_arrival *a,
					  const struct olaf_job *job, __u32 rank,
					  const struct olaf_round_buffer *buffer, const __u64 *lanes,
					  const struct olaf_plain_way *way)
{
	__u32 count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	__u32 bytes = olaf_clamp(8 * count, 8, 8 * olaf_cfg.max_lanes);
	int delta = (int)(OLAF_MIN_HEADERS + sizeof(struct olaf_header) + bytes) -
		    (int)a->frame_bytes;
	void *header, *end;

	if (delta && bpf_xdp_adjust_tail(ctx, delta))
		return -1;
	header = (void *)(long)ctx->data + OLAF_MIN_HEADERS;
	end = (void *)(long)ctx->data_end;
	if (header + sizeof(struct olaf_header) > end)
		return -1;
	olaf_plain_dress(header, sizeof(struct olaf_header) + bytes, way);
	olaf_result_say(header, job, rank, buffer, count);
	header += sizeof(struct olaf_header);
	if (count <= olaf_linear_lanes() && header + bytes <= end) {
		olaf_lanes_put(header, lanes, end, count);
		return 0;
	}
	return bpf_xdp_store_bytes(ctx, OLAF_MIN_HEADERS + sizeof(struct olaf_header),
				   (void *)lanes, bytes) ?
		       -1 :
		       0;
}

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

/*
 * The way to the job's parent, out of the queue's device. Returns whether it is known. A function by itself,
 * because its question would lie on the stack of its callers.
 */
static __noinline int olaf_parent_way(struct xdp_md *ctx, const struct olaf_job *job,
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
				       __u64 sum)
{
	__u32 elsewhere = job->setup.parent_ifindex;
	struct olaf_round_way way = {};

	olaf_parent_ends(job, &way);
	if (!elsewhere && !olaf_parent_way(ctx, job, &way))
		return olaf_order_write(ctx, job_index, OLAF_ROUND_ASK);
	if (olaf_staged_put(ctx, a, staged, lanes, count, sum, &way) != OLAF_WRITTEN)
		return OLAF_ROUND_LEAVE;
	return elsewhere ? olaf_order_write(ctx, job_index, OLAF_ROUND_ONWARD) : OLAF_ROUND_SEND;
}

/*
 * The buffer's aggregate becomes the frame at hand, as this node's own contribution. Under its
 * slot's lock. Returns enum olaf_round_act.
 */
__noinline int olaf_up_write(struct xdp_md *ctx, __u32 buffer_index)
{
	struct olaf_round_buffer *buffer = olaf_round_buffer_at(buffer_index);
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_job *job;
	__u64 sum = 0;
	__u32 count, generation;

	if (!buffer || !lanes || !m || !a || !staged)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	if (!job)
		return OLAF_ROUND_LEAVE;
	generation = olaf_parent_generation(job, buffer->generation);
	if (!generation)
		return OLAF_ROUND_LEAVE;
	count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	olaf_round_head(&staged->message, OLAF_CONTRIBUTION,
			job->setup.shape |
				(buffer->flags & (OLAF_FLAG_PARTIAL | OLAF_FLAG_SPOILT | OLAF_FLAG_MISFIT)) |
				(m->flags & OLAF_FLAG_FLUSH),
			count, job->setup.id, job->setup.rank);
	olaf_round_say(&staged->message, buffer);
	staged->message.generation_be = bpf_htonl(generation);
	staged->message.pool = 0;
	if (olaf_udp_protects(job, job->setup.parent_family))
		sum = olaf_round_sum(buffer_index, count);
	return olaf_up_put(ctx, a, job, m->job, staged, lanes, count, sum);
}

/*
 * The frame at hand becomes this node's own probe to its parent, for the same chunk: a member here waits for it,
 * and the parent may have summed it without this node. Under the slot's lock. Returns enum olaf_round_act.
 */
__noinline int olaf_up_ask(struct xdp_md *ctx, __u32 generation)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_job *job;
	__u32 parents;

	if (!m || !a || !staged)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	if (!job)
		return OLAF_ROUND_LEAVE;
	parents = olaf_parent_generation(job, generation);
	if (!parents)
		return OLAF_ROUND_LEAVE;
	olaf_count_job(m->job, up_asked);
	olaf_round_head(&staged->message, OLAF_CONTRIBUTION, job->setup.shape | OLAF_FLAG_FLUSH, 0,
			job->setup.id, job->setup.rank);
	staged->message.workers_be = 0;
	staged->message.sequence_be = bpf_htonl(m->round);
	staged->message.content_be = 0;
	staged->message.added_be = bpf_htons(1);
	staged->message.generated_ns_be = 0;
	staged->message.chunk_be = bpf_htonl(m->chunk);
	staged->message.chunks_be = bpf_htonl(m->chunks);
	staged->message.generation_be = bpf_htonl(parents);
	staged->message.exponent_be = 0;
	staged->message.pool = 0;
	return olaf_up_put(ctx, a, job, m->job, staged, staged->lanes, 0, 0);
}

/*
 * Do more results wait than frames will come for? In the line of one CPU at most half of the slots' may.
 * Where nobody waits for a frame the other CPUs' lines aren't looked at: each look takes a cache line away.
 */
static __always_inline int olaf_line_is_long(struct olaf_job *job, const struct olaf_round_message *m)
{
	if (olaf_line_length(olaf_line_at(job, olaf_line_here())) <= job->setup.slots / 2 &&
	    ((!(m->flags & OLAF_FLAG_FLUSH) &&
	      (m->type != OLAF_RESULT || !READ_ONCE(job->flushing))) ||
	     !olaf_lines_wait(job)))
		return 0;
	return !job->setup.group_family || !olaf_line_is_one_frame(job);
}

/* Deliveries that one frame tries: members that were never heard from can't be reached. */
#define OLAF_RIDE_TRIES 4

/* The result becomes the frame at hand. Returns enum olaf_written. Under its slot's lock. */
static __always_inline int olaf_deliver_in(struct xdp_md *ctx, const struct olaf_arrival *a,
					   const struct olaf_job *job, __u32 job_index,
					   const struct olaf_round_buffer *buffer,
					   const struct olaf_delivery *delivery)
{
	struct olaf_child *child = olaf_child_at(job_index, delivery->rank); /* NULL: for all */
	__u32 index = delivery->buffer & ~OLAF_LINE_GROUP;
	__u64 *lanes = olaf_round_lanes_at(index);
	struct olaf_plain_way way;

	if (!child || !lanes || !olaf_may_carry(a) || olaf_udp_protects(job, 4) ||
	    !olaf_plain_way(child, &way))
		return olaf_result_write(ctx, index, delivery->rank);
	return olaf_plain_put(ctx, a, job, delivery->rank, buffer, lanes, &way) ? OLAF_SPOILT :
										OLAF_WRITTEN;
}

/*
 * Takes the delivery, and writes it into the frame at hand. Returns enum olaf_written; what can't be
 * delivered is counted.
 */
static __always_inline int olaf_deliver(struct xdp_md *ctx, const struct olaf_arrival *a,
					struct olaf_job *job, __u32 job_index,
					struct olaf_delivery *delivery)
{
	__u32 index = delivery->buffer & ~OLAF_LINE_GROUP, taken;
	struct olaf_round_slot *slot = olaf_round_slot_at(index / OLAF_ROUND_BUFFERS);
	struct olaf_round_buffer *buffer;
	int written = OLAF_UNREACHABLE;

	/* Nothing is taken, and the next frame goes on with it. */
	if (!slot || !olaf_lock(&slot->lock))
		return OLAF_SPOILT;
	buffer = &slot->buffer[index & 1];
	taken = olaf_delivery_take(job, job_index, buffer, delivery);
	if (taken)
		written = olaf_deliver_in(ctx, a, job, job_index, buffer, delivery);
	olaf_unlock(&slot->lock);
	if (written != OLAF_WRITTEN)
		olaf_count_job_by(job_index, undelivered, taken);
	else if (delivery->rank == OLAF_EVERY_WORKER)
		olaf_count_job(job_index, multicast);
	else
		olaf_count_job(job_index, riding);
	return written;
}

/* Carries what the frame at hand can. Returns enum olaf_round_act. */
static __always_inline int olaf_carry(struct xdp_md *ctx, const struct olaf_arrival *a,
				      struct olaf_round_message *m, struct olaf_job *job)
{
	int i, written;

	if (olaf_line_is_long(job, m))
		return olaf_order_write(ctx, m->job, OLAF_ROUND_COPY);
	if (!olaf_frame_holds(a, job))
		return OLAF_ROUND_LEAVE;
	for (i = 0; i < OLAF_RIDE_TRIES; i++) {
		if (!olaf_line_next(job, &m->delivery))
			return OLAF_ROUND_LEAVE;
		written = olaf_deliver(ctx, a, job, m->job, &m->delivery);
		if (written != OLAF_UNREACHABLE)
			return written == OLAF_WRITTEN ? OLAF_ROUND_SEND : OLAF_ROUND_LEAVE;
	}
	return OLAF_ROUND_LEAVE;
}

#endif /* OLAF_ROUND_FRAMES_BPF_H */
