/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a child gets: the result of a chunk, or STALE. Global functions, verified once: each writes
 * the frame at hand, and the caller sends it.
 */
#ifndef OLAF_ROUND_RESULT_BPF_H
#define OLAF_ROUND_RESULT_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/partial.bpf.h"
#include "bpf/rounds/group_way.bpf.h"
#include "bpf/rounds/message.bpf.h"

/* What became of a frame that a result was to be written into. */
enum olaf_written {
	OLAF_WRITTEN = 0,
	OLAF_UNREACHABLE = 1, /* the member's address isn't known: the frame is as it was */
	OLAF_SPOILT = 2, /* it can't be made long enough */
};

/* The longest result that a frame without lanes has room for: it grows within its page. */
#define OLAF_GROWN_LANES 400

/*
 * Can the frame at hand hold a result of the job's? A contribution is as long as one. A frame without lanes,
 * of a probe or an order, can hold a short one.
 */
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

/*
 * The buffer's result for `rank`, or OLAF_EVERY_WORKER, becomes the frame at hand. Under its slot's
 * lock. Returns enum olaf_written.
 */
__noinline int olaf_result_write(struct xdp_md *ctx, __u32 buffer_index, __u32 rank)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(buffer_index / OLAF_ROUND_BUFFERS);
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_buffer *buffer;
	struct olaf_round_way way = {};
	struct olaf_job *job;
	__u32 count, header_bytes;
	__u64 sum = 0;

	if (!slot || !lanes || !m || !a || !staged)
		return OLAF_UNREACHABLE;
	job = olaf_job_at(m->job);
	buffer = &slot->buffer[buffer_index & 1];
	if (!job || !olaf_result_way(job, m->job, rank, buffer->round, &way))
		return OLAF_UNREACHABLE;
	count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	olaf_result_say(&staged->message, job, rank, buffer, count);
	if (way.family == 6)
		sum = olaf_round_result_sum(buffer, buffer_index, count);
	header_bytes = olaf_round_dress(staged, count, sum, &way);
	if (rank == OLAF_EVERY_WORKER)
		olaf_limit_hops(staged, job);
	if (!olaf_round_leave_partial(a, staged, header_bytes, way.family))
		return OLAF_SPOILT;
	return olaf_round_put(ctx, staged, header_bytes, lanes, count) ? OLAF_SPOILT : OLAF_WRITTEN;
}

/*
 * STALE for the sender of the contribution at hand, naming the chunk and the generation that it
 * named, becomes the frame. Returns enum olaf_written.
 */
__noinline int olaf_stale_write(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	struct olaf_header *header;
	struct olaf_job *job;
	__u32 header_bytes;

	if (!m || !a || !staged)
		return OLAF_UNREACHABLE;
	job = olaf_job_at(m->job);
	if (!job || !olaf_child_way(m->job, m->rank, &way))
		return OLAF_UNREACHABLE;
	header = &staged->message;
	olaf_result_head(header, job, m->rank, OLAF_FLAG_STALE, 0,
			 READ_ONCE(job->generation));
	header->sequence_be = bpf_htonl(m->round);
	header->chunk_be = bpf_htonl(m->chunk);
	header->chunks_be = bpf_htonl(m->chunks);
	header->named_be = bpf_htonl(m->generation);
	header->generated_ns_be = bpf_cpu_to_be64(m->generated_ns);
	header->exponent_be = 0;
	header_bytes = olaf_round_dress(staged, 0, 0, &way);
	if (!olaf_round_leave_partial(a, staged, header_bytes, way.family))
		return OLAF_SPOILT;
	return olaf_round_put(ctx, staged, header_bytes, NULL, 0) ? OLAF_SPOILT : OLAF_WRITTEN;
}

/*
 * For who contributes and is no member: the answer to a LEAVE that it never sent, with the
 * round and chunk that it named. Returns enum olaf_written.
 */
__noinline int olaf_gone_write(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	struct olaf_header *header;
	struct olaf_job *job;
	__u32 header_bytes;

	if (!m || !a || !staged)
		return OLAF_UNREACHABLE;
	job = olaf_job_at(m->job);
	if (!job || !olaf_child_way(m->job, m->rank, &way))
		return OLAF_UNREACHABLE;
	header = &staged->message;
	olaf_round_head(header, OLAF_CONTROL, OLAF_FLAG_ANSWER, 0, job->setup.id, m->rank);
	header->sequence_be = bpf_htonl(m->round);
	header->action_be = bpf_htonl(OLAF_CONTROL_LEAVE);
	header->generated_ns_be = bpf_cpu_to_be64(m->generated_ns);
	header->chunk_be = bpf_htonl(m->chunk);
	olaf_tell_shape(header, job);
	header->generation_be = bpf_htonl(m->generation);
	header->status_be = bpf_htons(OLAF_CONTROL_GONE);
	header->pool = READ_ONCE(job->pool);
	header_bytes = olaf_round_dress(staged, 0, 0, &way);
	if (!olaf_round_leave_partial(a, staged, header_bytes, way.family))
		return OLAF_SPOILT;
	return olaf_round_put(ctx, staged, header_bytes, NULL, 0) ? OLAF_SPOILT : OLAF_WRITTEN;
}

#endif /* OLAF_ROUND_RESULT_BPF_H */
