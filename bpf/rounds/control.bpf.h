/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CONTROL messages of a job: SYNC, from a child, is answered in its own frame, or goes on to the
 * parent in it; the parent's answer goes on to the child that asked last.
 */
#ifndef OLAF_ROUND_CONTROL_BPF_H
#define OLAF_ROUND_CONTROL_BPF_H

#include "bpf/rounds/agree.bpf.h"
#include "bpf/rounds/down.bpf.h"
#include "bpf/rounds/up.bpf.h"

/* What a SYNC says of the job, of one moment. */
struct olaf_sync {
	__u32 status; /* enum olaf_control_status */
	__u32 generation;
	__u32 round;
	__u32 chunk;
	__u32 pool;
	__u32 missing; /* children that haven't asked */
	__u32 lowest; /* the first of them */
	__u32 rank; /* of whom it is for */
	__u64 stamp;
};

/* The job's part of an answer, or of a question to the parent. Under the job's lock. */
static __always_inline void olaf_sync_read(const struct olaf_job *job, struct olaf_sync *sync)
{
	sync->generation = job->generation;
	sync->round = job->next_round;
	sync->chunk = job->next_chunk;
	sync->pool = job->pool;
	sync->missing = olaf_job_runs(job) ? 0 : olaf_job_missing(job, &sync->lowest);
}

static __always_inline void olaf_sync_say(struct olaf_header *header, const struct olaf_job *job,
					  const struct olaf_sync *sync, __u32 flags, __u32 rank)
{
	olaf_round_head(header, OLAF_CONTROL, flags, 0, job->setup.id, rank);
	header->sequence_be = bpf_htonl(sync->round);
	header->action_be = bpf_htonl(OLAF_CONTROL_SYNC);
	header->generated_ns_be = bpf_cpu_to_be64(sync->stamp);
	header->chunk_be = bpf_htonl(sync->chunk);
	header->missing_be = bpf_htonl(sync->missing);
	header->generation_be = bpf_htonl(sync->generation);
	header->status_be = bpf_htons(sync->status);
	header->pool = sync->pool;
}

/* The answer becomes the frame, to the child sync->rank. Returns enum olaf_round_act. */
static __always_inline int olaf_sync_answer(struct xdp_md *ctx, const struct olaf_arrival *a,
					    const struct olaf_job *job, __u32 job_index,
					    const struct olaf_sync *sync)
{
	__u32 rank = sync->status == OLAF_CONTROL_WAIT ? sync->lowest : sync->rank;
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	__u32 header_bytes;

	if (!staged || !olaf_child_way(job_index, sync->rank, &way))
		return OLAF_ROUND_LEAVE;
	olaf_sync_say(&staged->message, job, sync, OLAF_FLAG_ANSWER, rank);
	header_bytes = olaf_round_dress(staged, 0, 0, &way);
	if (!olaf_round_leave_partial(a, staged, header_bytes, way.family))
		return OLAF_ROUND_LEAVE;
	return olaf_round_put(ctx, staged, header_bytes, NULL, 0) ? OLAF_ROUND_LEAVE :
								   OLAF_ROUND_SEND;
}

/* This node asks its parent. Returns enum olaf_round_act. */
static __always_inline int olaf_sync_up(struct xdp_md *ctx, const struct olaf_arrival *a,
					const struct olaf_job *job, __u32 job_index,
					const struct olaf_sync *sync)
{
	struct olaf_entry *staged = olaf_staging();

	if (!staged)
		return OLAF_ROUND_LEAVE;
	olaf_sync_say(&staged->message, job, sync, 0, job->setup.rank);
	return olaf_up_put(ctx, a, job, job_index, staged, NULL, 0, 0);
}

/* A child's SYNC at hand. Returns enum olaf_round_act. */
__noinline int olaf_sync_asked(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_sync sync = {};
	struct olaf_child *child;
	struct olaf_job *job;
	int up;

	if (!a || !m)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	child = olaf_child_at(m->job, m->rank);
	if (!job || !child || !olaf_lock(&job->lock))
		return OLAF_ROUND_LEAVE;
	sync.status = olaf_sync_judge(job, child, m);
	olaf_sync_read(job, &sync);
	up = sync.status == OLAF_CONTROL_WAIT && !sync.missing;
	sync.stamp = up ? job->stamp : m->generated_ns;
	olaf_unlock(&job->lock);
	olaf_count_job(m->job, syncs);
	sync.rank = m->rank;
	if (!up)
		return olaf_sync_answer(ctx, a, job, m->job, &sync);
	sync.status = 0;
	sync.generation = *(volatile __u32 *)&job->parent_generation;
	return olaf_sync_up(ctx, a, job, m->job, &sync);
}

/* The parent's answer at hand. Returns enum olaf_round_act. */
__noinline int olaf_sync_told(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_sync sync = {};
	struct olaf_child *child;
	struct olaf_job *job;

	if (!a || !m)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	if (!job || !olaf_lock(&job->lock))
		return OLAF_ROUND_LEAVE;
	olaf_sync_answered(job, m);
	olaf_sync_read(job, &sync);
	sync.status = olaf_job_runs(job) ? OLAF_CONTROL_DONE : OLAF_CONTROL_WAIT;
	sync.rank = job->asker;
	child = olaf_child_at(m->job, sync.rank);
	sync.stamp = child ? child->stamp : 0;
	olaf_unlock(&job->lock);
	/* Who is missing there, if all children are here. */
	if (sync.status == OLAF_CONTROL_WAIT && !sync.missing) {
		sync.missing = m->chunks;
		sync.lowest = m->rank;
	}
	return olaf_sync_answer(ctx, a, job, m->job, &sync);
}

/* The CONTROL message at hand, of a child's or the parent's. Returns enum olaf_round_act. */
static __always_inline int olaf_control(struct xdp_md *ctx, const struct olaf_arrival *a,
					const struct olaf_round_message *m,
					const struct olaf_job *job)
{
	if (m->count != OLAF_CONTROL_SYNC) {
		olaf_trouble_malformed(OLAF_MALFORMED_TYPE);
		return OLAF_ROUND_LEAVE;
	}
	if (m->flags & OLAF_FLAG_ANSWER) {
		if (olaf_is_from_parent(ctx, a, job))
			return olaf_sync_told(ctx);
		olaf_trouble_not_allowed(OLAF_NOT_ALLOWED_JOB_RESULT, a->now);
		return OLAF_ROUND_LEAVE;
	}
	return olaf_sync_asked(ctx);
}

#endif /* OLAF_ROUND_CONTROL_BPF_H */
