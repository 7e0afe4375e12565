/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A contribution meets the buffers of its slot: the table of docs/rounds.md. One critical section,
 * its slot's. What the frame at hand does next is enum olaf_round_act.
 */
#ifndef OLAF_ROUND_CONTRIBUTE_BPF_H
#define OLAF_ROUND_CONTRIBUTE_BPF_H

#include "bpf/rounds/add.bpf.h"

/* A result is overdue after this many times the usual time, and between these bounds. */
#define OLAF_OVERDUE_TIMES 4
#define OLAF_OVERDUE_LEAST_NS 1000000ULL
#define OLAF_OVERDUE_MOST_NS 200000000ULL

/* What the table says of a slot without the contribution's buffer. Below: the buffer to open. */
#define OLAF_MEETS_AHEAD 2
#define OLAF_MEETS_STALE 3

static __always_inline int olaf_buffer_is_newer(const struct olaf_round_buffer *buffer, __u32 round,
						__u32 chunk)
{
	return buffer->state != OLAF_ROUND_FREE &&
	       !olaf_chunk_is_before(buffer->round, buffer->chunk, round, chunk);
}

/* Buffers of another generation are void: they become FREE. Under the slot's lock. */
static __always_inline void olaf_round_void(const struct olaf_meeting *t, __u32 generation)
{
	__u32 i, owed;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_ROUND_BUFFERS; i++) {
		struct olaf_round_buffer *buffer = &t->slot->buffer[i];

		if (buffer->state == OLAF_ROUND_FREE || buffer->generation == generation)
			continue;
		owed = olaf_round_free(buffer);
		if (owed)
			olaf_count_job_by(t->m->job, undelivered, owed);
	}
}

/* The buffer that a new chunk opens, or OLAF_MEETS_*. Under the slot's lock. */
static __always_inline __u32 olaf_round_choose(const struct olaf_round_slot *slot, __u32 round,
					       __u32 chunk)
{
	const struct olaf_round_buffer *first = &slot->buffer[0], *second = &slot->buffer[1];

	if (olaf_buffer_is_newer(first, round, chunk) || olaf_buffer_is_newer(second, round, chunk))
		return OLAF_MEETS_STALE;
	if (first->state == OLAF_ROUND_FREE)
		return 0;
	if (second->state == OLAF_ROUND_FREE)
		return 1;
	if (first->state == OLAF_ROUND_DONE && second->state == OLAF_ROUND_DONE)
		return !olaf_chunk_is_before(first->round, first->chunk, second->round,
					     second->chunk);
	if (first->state == OLAF_ROUND_DONE)
		return 0;
	return second->state == OLAF_ROUND_DONE ? 1 : OLAF_MEETS_AHEAD;
}

/* The contribution's sender is answered STALE. Under the slot's lock. */
static __always_inline int olaf_answer_stale(struct xdp_md *ctx)
{
	return olaf_stale_write(ctx) == OLAF_WRITTEN ? OLAF_ROUND_SEND : OLAF_ROUND_LEAVE;
}

/*
 * Has the rank contributed to the buffer as often as it may? With ANY that is again and again, while
 * it is OPEN; a repetition is then no newer than the newest of the child's.
 */
static __always_inline int olaf_round_is_in(const struct olaf_meeting *t,
					    const struct olaf_round_buffer *buffer)
{
	struct olaf_child *child;

	if (!olaf_ranks_has(&buffer->in, t->m->rank))
		return 0;
	if (!(t->job->setup.flags & OLAF_JOB_ANY) || buffer->state != OLAF_ROUND_OPEN)
		return 1;
	child = olaf_child_at(t->m->job, t->m->rank);
	return !child || t->m->generated_ns <= READ_ONCE(child->newest_ns);
}

/* The contribution's buffer is OPEN. Under the slot's lock. */
static __always_inline int olaf_meet_open(struct xdp_md *ctx, const struct olaf_meeting *t,
					  __u32 which)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	__u64 deadline_ns = t->job->setup.deadline_ns;

	if (!olaf_round_is_in(t, buffer)) {
		/* Never more than there is room for: no sum that could wrap. */
		if (t->m->count > t->job->setup.max_count - buffer->count)
			return olaf_round_overflows();
		if (olaf_round_add(ctx, olaf_round_buffer_of(t->slot_index, which & 1)))
			return OLAF_ROUND_LEAVE;
		return olaf_round_added(ctx, t, which);
	}
	olaf_count_job(t->m->job, received);
	olaf_count_job(t->m->job, duplicate);
	if (buffer->opened_ns == OLAF_ROUND_OVERDUE || olaf_round_is_enough(t->job, buffer) ||
	    buffer->opened_ns <= READ_ONCE(t->job->membership.sealed_ns) ||
	    (deadline_ns && t->a->now > buffer->opened_ns &&
	     t->a->now - buffer->opened_ns > deadline_ns))
		return olaf_round_complete(ctx, t, which);
	return OLAF_ROUND_RIDE;
}

static __always_inline int olaf_is_overdue(const struct olaf_meeting *t,
					   const struct olaf_round_buffer *buffer)
{
	__u64 patience_ns = OLAF_OVERDUE_TIMES * READ_ONCE(t->job->turnaround_ns);

	if (patience_ns < OLAF_OVERDUE_LEAST_NS)
		patience_ns = OLAF_OVERDUE_LEAST_NS;
	if (patience_ns > OLAF_OVERDUE_MOST_NS)
		patience_ns = OLAF_OVERDUE_MOST_NS;
	return t->a->now > buffer->up_ns && t->a->now - buffer->up_ns > patience_ns;
}

/* The contribution's buffer is with the parent. Under the slot's lock. */
static __always_inline int olaf_meet_up(struct xdp_md *ctx, const struct olaf_meeting *t, __u32 which)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);

	olaf_count_job(t->m->job, received);
	if (!olaf_round_is_in(t, buffer)) {
		olaf_count_job(t->m->job, late);
		return OLAF_ROUND_RIDE;
	}
	olaf_count_job(t->m->job, duplicate);
	if (!olaf_is_overdue(t, buffer))
		return OLAF_ROUND_RIDE;
	buffer->up_ns = t->a->now;
	olaf_count_job(t->m->job, up_again);
	return olaf_up_write(ctx, olaf_round_buffer_of(t->slot_index, which & 1));
}

/* The result is there: the frame becomes the sender's. Under the slot's lock. */
static __always_inline int olaf_answer_result(struct xdp_md *ctx, const struct olaf_meeting *t,
					      __u32 which)
{
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	__u32 index = olaf_round_buffer_of(t->slot_index, which & 1);
	int first;

	if (buffer->flags & OLAF_FLAG_STALE)
		return olaf_answer_stale(ctx);
	/* If it is owed still, it leaves in another frame, or in a clone of this one. */
	if (!olaf_frame_holds(t->a, t->job))
		return OLAF_ROUND_RIDE;
	first = olaf_owed_settle(t->job, t->m->job, buffer, t->m->rank);
	if (olaf_result_write(ctx, index, t->m->rank) == OLAF_WRITTEN) {
		if (first)
			olaf_count_job(t->m->job, riding);
		else
			olaf_count_job(t->m->job, repeated);
		return OLAF_ROUND_SEND;
	}
	if (first)
		olaf_count_job(t->m->job, undelivered);
	return OLAF_ROUND_LEAVE;
}

/* The contribution's buffer is DONE. Under the slot's lock. */
static __always_inline int olaf_meet_done(struct xdp_md *ctx, const struct olaf_meeting *t,
					  __u32 which)
{
	olaf_count_job(t->m->job, received);
	if (olaf_round_is_in(t, olaf_met(t, which)))
		olaf_count_job(t->m->job, duplicate);
	else
		olaf_count_job(t->m->job, late);
	return olaf_answer_result(ctx, t, which);
}

/* A probe: who asks for a result adds nothing. Under the slot's lock. */
static __always_inline int olaf_meet_probe(struct xdp_md *ctx, const struct olaf_meeting *t,
					   __u32 which)
{
	olaf_count_job(t->m->job, probes);
	if (which < OLAF_ROUND_BUFFERS)
		return olaf_met(t, which)->state == OLAF_ROUND_DONE ?
			       olaf_answer_result(ctx, t, which) :
			       OLAF_ROUND_RIDE;
	return which == OLAF_MEETS_STALE ? olaf_answer_stale(ctx) : OLAF_ROUND_RIDE;
}

/* The contribution's slot has no buffer of its round and chunk. Under the slot's lock. */
static __always_inline int olaf_meet_none(struct xdp_md *ctx, const struct olaf_meeting *t,
					  __u32 which, __u32 generation)
{
	if (which < OLAF_ROUND_BUFFERS && !olaf_is_joining(t->job, t->m->rank))
		return olaf_round_open(ctx, t, which, generation);
	olaf_count_job(t->m->job, received);
	if (which != OLAF_MEETS_STALE) {
		olaf_count_job(t->m->job, ahead);
		return OLAF_ROUND_RIDE;
	}
	olaf_count_job(t->m->job, stale);
	return olaf_answer_stale(ctx);
}

/*
 * The job takes no contribution of that generation now. STALE with the generation that the sender has
 * would say that the chunk is over: so nothing is said while the job is halted, nor where it is being
 * removed. Under the slot's lock.
 */
static __always_inline int olaf_meet_closed(struct xdp_md *ctx, const struct olaf_meeting *t,
					    __u32 halted)
{
	int is_over = !halted && READ_ONCE(t->job->state) != OLAF_JOB_NONE;

	if (!t->a->update.lanes) {
		olaf_count_job(t->m->job, probes);
	} else {
		olaf_count_job(t->m->job, received);
		if (halted)
			olaf_count_job(t->m->job, halted);
		else
			olaf_count_job(t->m->job, stale);
	}
	return is_over ? olaf_answer_stale(ctx) : OLAF_ROUND_RIDE;
}

/* Whoever sends it is no member in that round, and is told. Under the slot's lock. */
static __always_inline int olaf_meet_stranger(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	if (!t->a->update.lanes) {
		olaf_count_job(t->m->job, probes);
	} else {
		olaf_count_job(t->m->job, received);
		olaf_count_job(t->m->job, stale);
	}
	return olaf_gone_write(ctx) == OLAF_WRITTEN ? OLAF_ROUND_SEND : OLAF_ROUND_LEAVE;
}

/* The table. Under the slot's lock. */
static __always_inline int olaf_meet(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	const struct olaf_round_message *m = t->m;
	__u32 generation = READ_ONCE(t->job->generation), which;
	__u32 runs = olaf_job_runs(t->job), halted = READ_ONCE(t->job->halted);

	olaf_round_void(t, generation);
	if (!runs || halted || m->generation != generation)
		return olaf_meet_closed(ctx, t, runs && halted);
	if (olaf_is_absent(t->job, m->round, m->rank))
		return olaf_meet_stranger(ctx, t);
	which = olaf_round_is(&t->slot->buffer[0], m->round, m->chunk) ? 0 : 1;
	if (!olaf_round_is(olaf_met(t, which), m->round, m->chunk)) {
		which = olaf_round_choose(t->slot, m->round, m->chunk);
		if (t->a->update.lanes)
			return olaf_meet_none(ctx, t, which, generation);
		return olaf_meet_probe(ctx, t, which < OLAF_ROUND_BUFFERS ? OLAF_MEETS_AHEAD : which);
	}
	if (!t->a->update.lanes)
		return olaf_meet_probe(ctx, t, which);
	if (olaf_met(t, which)->state == OLAF_ROUND_OPEN)
		return olaf_meet_open(ctx, t, which);
	if (olaf_met(t, which)->state == OLAF_ROUND_UP)
		return olaf_meet_up(ctx, t, which);
	return olaf_meet_done(ctx, t, which);
}

/* The contribution at hand. Returns enum olaf_round_act. */
static __always_inline int olaf_contribute(struct xdp_md *ctx, struct olaf_arrival *a,
					   struct olaf_round_message *m, struct olaf_job *job)
{
	struct olaf_meeting t = { .a = a, .m = m, .job = job };
	__u32 flushes;
	int act;

	t.slot_index = olaf_round_slot_of(t.job, t.m->chunk);
	t.slot = olaf_round_slot_at(t.slot_index);
	if (!t.slot)
		return OLAF_ROUND_LEAVE;
	flushes = !!(t.m->flags & OLAF_FLAG_FLUSH);
	if (READ_ONCE(t.job->flushing) != flushes)
		WRITE_ONCE(t.job->flushing, flushes);
	if (!olaf_lock(&t.slot->lock)) {
		olaf_count_job(t.m->job, received);
		olaf_count_job(t.m->job, ahead);
		return OLAF_ROUND_LEAVE;
	}
	act = olaf_meet(ctx, &t);
	olaf_unlock(&t.slot->lock);
	return act;
}

#endif /* OLAF_ROUND_CONTRIBUTE_BPF_H */
