/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A contribution is added to a buffer, and completes it: at the root the buffer is then the result,
 * elsewhere it goes up. Under the slot's lock.
 *
 * How lanes are added is the program's: that of integers.bpf.h, unless it has included floats.bpf.h
 * before this.
 *
 *   olaf_round_first   the frame's lanes are the buffer's first
 *   olaf_round_add     they are added to the buffer's
 *   olaf_round_close   nothing more is added: the buffer's lanes become those of a frame
 */
#ifndef OLAF_ROUND_ADD_BPF_H
#define OLAF_ROUND_ADD_BPF_H

#include "bpf/rounds/agree.bpf.h"
#include "bpf/rounds/delivery.bpf.h"
#include "bpf/rounds/up.bpf.h"
#ifndef OLAF_ROUND_FLOATS_BPF_H
#include "bpf/rounds/integers.bpf.h"
#endif

/* CPUs that may note contributions of one child at once, and more. */
#define OLAF_NEWEST_LOOKS 16

/* A message, its job, and the slot that it meets. */
struct olaf_meeting {
	struct olaf_arrival *a;
	struct olaf_round_message *m;
	struct olaf_job *job;
	struct olaf_round_slot *slot;
	__u32 slot_index;
};

static __always_inline struct olaf_round_buffer *olaf_met(const struct olaf_meeting *t, __u32 which)
{
	return &t->slot->buffer[which & 1];
}

/* Is something missing in the buffer? */
static __always_inline int olaf_round_is_partial(struct olaf_job *job,
						 const struct olaf_round_buffer *buffer)
{
	if (job->setup.flags & OLAF_JOB_ANY)
		return buffer->added < job->setup.threshold;
	return buffer->added < job->setup.children &&
	       (olaf_round_lacks(job, buffer) ||
		READ_ONCE(job->membership.flags) &
			(OLAF_MEMBERS_DOUBTFUL | OLAF_MEMBERS_FORGOT));
}

/* Needs the buffer nothing more? Those who have left aren't waited for. */
static __always_inline int olaf_round_is_enough(struct olaf_job *job,
						const struct olaf_round_buffer *buffer)
{
	if (buffer->added >= READ_ONCE(job->setup.threshold))
		return 1;
	return READ_ONCE(job->membership.away) && !(job->setup.flags & OLAF_JOB_ANY) &&
	       !olaf_round_lacks(job, buffer);
}

/*
 * ANY: when the child's newest contribution was made. Its chunks may be added on several CPUs: who
 * comes second looks again, else a repetition of the newest one would pass for another.
 */
static __always_inline void olaf_newest_note(const struct olaf_meeting *t)
{
	struct olaf_child *child = olaf_child_at(t->m->job, t->m->rank);
	__u64 made_ns = t->m->generated_ns, seen, i;

	for (i = 0; child && i < OLAF_NEWEST_LOOKS; i++) {
		seen = READ_ONCE(child->newest_ns);
		if (made_ns <= seen ||
		    __sync_val_compare_and_swap(&child->newest_ns, seen, made_ns) == seen)
			return;
	}
}

/* Nothing more is added to the buffer. Under the slot's lock. */
static __always_inline int olaf_round_complete(struct xdp_md *ctx, const struct olaf_meeting *t,
					       __u32 which)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	__u32 index = olaf_round_buffer_of(t->slot_index, which & 1);

	if (olaf_round_is_partial(t->job, buffer)) {
		buffer->flags |= OLAF_FLAG_PARTIAL;
		if (!(t->job->setup.flags & OLAF_JOB_ANY) &&
		    !olaf_members_are_judged(t->job, t->a->now))
			olaf_members_judge(t->m->job, index, t->a->now);
	}
	olaf_round_close(t->job, index);
	if (olaf_job_is_root(t->job)) {
		olaf_round_done(t->job, t->m->job, t->slot_index, which);
		return OLAF_ROUND_RIDE;
	}
	buffer->state = OLAF_ROUND_UP;
	buffer->first_up_ns = t->a->now;
	buffer->up_ns = t->a->now;
	olaf_count_job(t->m->job, up_sent);
	return olaf_up_write(ctx, index);
}

/* The contribution is in. Under the slot's lock. */
static __always_inline int olaf_round_added(struct xdp_md *ctx, const struct olaf_meeting *t,
					    __u32 which)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	const struct olaf_round_message *m = t->m;

	olaf_count_job(m->job, received);
	olaf_count_job(m->job, added);
	olaf_ranks_add(&buffer->in, m->rank);
	if (t->job->setup.flags & OLAF_JOB_ANY)
		olaf_newest_note(t);
	buffer->added++;
	buffer->count += m->count;
	buffer->flags |= m->flags & OLAF_FLAG_PARTIAL;
	if (buffer->exponent < m->exponent)
		buffer->exponent = m->exponent;
	if (buffer->generated_ns < m->generated_ns)
		buffer->generated_ns = m->generated_ns;
	if (!olaf_round_is_enough(t->job, buffer))
		return OLAF_ROUND_RIDE;
	return olaf_round_complete(ctx, t, which);
}

/* More contributions than the job may sum: elements could overflow. */
static __always_inline int olaf_round_overflows(void)
{
	olaf_trouble_malformed(OLAF_MALFORMED_COUNT);
	return OLAF_ROUND_LEAVE;
}

/* The contribution opens a buffer. Under the slot's lock. */
static __always_inline int olaf_round_open(struct xdp_md *ctx, const struct olaf_meeting *t,
					   __u32 which, __u32 generation)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	__u32 index = olaf_round_buffer_of(t->slot_index, which & 1), owed;

	if (t->m->count > t->job->setup.max_count)
		return olaf_round_overflows();
	owed = olaf_round_free(buffer);
	if (owed)
		olaf_count_job_by(t->m->job, undelivered, owed);
	if (olaf_round_first(ctx, t->a, index))
		return OLAF_ROUND_LEAVE;
	if (!olaf_round_is_told(t->job, t->m->round) && olaf_round_begins(t->m->job, t->m->round)) {
		olaf_count_job(t->m->job, received);
		olaf_count_job(t->m->job, ahead);
		return OLAF_ROUND_RIDE;
	}
	buffer->generation = generation;
	buffer->round = t->m->round;
	buffer->chunk = t->m->chunk;
	buffer->chunks = t->m->chunks;
	buffer->count = 0;
	buffer->added = 0;
	buffer->exponent = t->m->exponent;
	buffer->flags = 0;
	buffer->generated_ns = 0;
	buffer->opened_ns = t->a->now;
	olaf_ranks_clear(&buffer->in);
	WRITE_ONCE(buffer->state, OLAF_ROUND_OPEN);
	return olaf_round_added(ctx, t, which);
}

#endif /* OLAF_ROUND_ADD_BPF_H */
