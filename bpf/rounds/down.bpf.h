/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What comes down: the parent's RESULT of what this node sent up, and its STALE, meet the buffers of their
 * slot. One critical section, the slot's. The frame then carries results to this node's children.
 */
#ifndef OLAF_ROUND_DOWN_BPF_H
#define OLAF_ROUND_DOWN_BPF_H

#include "bpf/rounds/table.bpf.h"

/*
 * An aggregate has got its result. If the aggregate went up once, the time it took counts an eighth in the
 * smoothed time. If it went up again, the result answers the last sending, unless it came too soon for that.
 * Two CPUs that note results of different slots at once may lose one of both notes; the next result makes
 * up for that. Under the slot's lock.
 */
static __always_inline void olaf_turnaround_note(struct olaf_job *job,
						 const struct olaf_round_buffer *buffer, __u64 now)
{
	__u64 usual_ns = READ_ONCE(job->turnaround_ns), taken_ns = now - buffer->up_ns;
	__u64 up_ns = buffer->first_up_ns;

	if (now > buffer->up_ns && buffer->up_ns == up_ns)
		WRITE_ONCE(job->turnaround_ns,
			   usual_ns ? usual_ns - usual_ns / 8 + taken_ns / 8 : taken_ns);
	else if (now > buffer->up_ns && 2 * taken_ns >= usual_ns)
		up_ns = buffer->up_ns;
	if (up_ns > READ_ONCE(job->answered_up_ns))
		WRITE_ONCE(job->answered_up_ns, up_ns);
}

/* The result's lanes and fields take the buffer's place. Under the slot's lock. */
static __always_inline void olaf_down_take(void *ctx, olaf_frame_load load,
					   const struct olaf_meeting *t)
{
	__u64 *lanes = olaf_round_lanes_at(t->buffer_index);
	struct olaf_round_buffer *buffer = t->buffer;
	__u32 count = olaf_clamp(t->a->update.lanes, 1, olaf_cfg.max_lanes);

	if (!lanes ||
	    (!(t->m->flags & OLAF_FLAG_MISFIT) &&
	     load(ctx, t->a->update.header_bytes + sizeof(struct olaf_header), lanes, 8 * count)))
		return;
	if (buffer->state == OLAF_ROUND_UP)
		olaf_turnaround_note(t->job, buffer, t->a->now);
	buffer->chunks = t->m->chunks;
	buffer->vector = t->m->vector;
	buffer->count = t->m->count;
	buffer->exponent = t->m->exponent;
	buffer->generated_ns = t->m->generated_ns;
	buffer->flags = t->m->flags & (OLAF_FLAG_PARTIAL | OLAF_FLAG_LATE | OLAF_FLAG_MISFIT);
	if (buffer->flags & OLAF_FLAG_MISFIT)
		WRITE_ONCE(t->job->flushing, 1);
	/* The parent's sum has the aggregate that went up first, or nothing of what is gathered here. */
	if (buffer->state != OLAF_ROUND_UP && buffer->anew)
		buffer->in = buffer->given;
	else if (buffer->state != OLAF_ROUND_UP)
		buffer->flags |= OLAF_FLAG_LATE;
	olaf_round_done(t->job, t->m->job, buffer, t->buffer_index);
}

/*
 * Is the parent's message of the parent's generation that this node knows, and does the job run? Under the
 * slot's lock: a job that begins anew after this check finds the slot only once the message is done with.
 */
static __always_inline int olaf_down_is_current(const struct olaf_meeting *t)
{
	return olaf_job_runs(t->job) &&
	       t->m->generation == READ_ONCE(t->job->parent_generation);
}

/*
 * May the parent's message open a buffer of that generation of this node's? olaf_job_stop() raises the
 * generation first and changes the state afterwards. Between the two the job seems to run in the next
 * generation, and the message of the last one would be taken into it. So both are read under the job's
 * lock. Under the slot's lock.
 */
static __always_inline int olaf_down_may_open(const struct olaf_meeting *t, __u32 generation)
{
	int may_open;

	if (!olaf_job_lock(t->job))
		return 0;
	may_open = t->job->generation == generation && olaf_down_is_current(t);
	olaf_job_unlock(t->job);
	return may_open;
}

/*
 * The buffer that the parent's message is for: of its chunk, unless it is DONE, or one that the chunk may take as a
 * contribution could (olaf_round_choose), which is FREE then. Returns whether there is one. Under the slot's lock.
 */
static __always_inline int olaf_down_find(struct olaf_meeting *t, __u32 generation)
{
	__u32 which = olaf_round_find(t->slot, t->m->round, t->m->chunk);

	if (which < OLAF_ROUND_BUFFERS) {
		olaf_meets(t, which);
		return t->buffer->state != OLAF_ROUND_DONE;
	}
	/* MISFIT is of no chunk: whoever contributes is told (olaf_meet_misfit). */
	if (t->m->flags & OLAF_FLAG_MISFIT)
		return 0;
	which = olaf_round_choose(t->slot, t->m->round, t->m->chunk);
	if (which >= OLAF_ROUND_BUFFERS || !olaf_down_may_open(t, generation))
		return 0;
	olaf_meets(t, which);
	olaf_round_free(t->buffer, t->m->job);
	olaf_round_assign(t->buffer, t->m, generation);
	return 1;
}

/*
 * STALE of the generation that is known: above, this chunk is over. Nobody is owed a result, and
 * whoever asks is told. Under the slot's lock.
 */
static __always_inline void olaf_down_over(struct olaf_meeting *t, __u32 generation)
{
	if (!olaf_down_find(t, generation))
		return;
	t->buffer->flags |= OLAF_FLAG_STALE;
	WRITE_ONCE(t->buffer->state, OLAF_ROUND_DONE);
}

/* STALE of another generation: the parent's children must agree anew, and so must this node's. */
static __always_inline void olaf_down_anew(const struct olaf_meeting *t)
{
	if (!olaf_job_lock(t->job))
		return;
	if (olaf_job_runs(t->job) && t->m->action == t->job->parent_generation &&
	    t->m->generation != t->job->parent_generation)
		olaf_job_stop(t->job);
	olaf_job_unlock(t->job);
}

/* The parent's RESULT at hand. Returns enum olaf_round_act. */
static __always_inline int olaf_down_by(void *ctx, olaf_frame_load load)
{
	struct olaf_meeting t = { .a = olaf_arrival_here(), .m = olaf_round_message_here() };
	__u32 generation;
	int stale;

	if (!t.a || !t.m)
		return OLAF_ROUND_LEAVE;
	t.job = olaf_job_at(t.m->job);
	if (!t.job)
		return OLAF_ROUND_LEAVE;
	stale = t.m->flags & OLAF_FLAG_STALE;
	generation = READ_ONCE(t.job->generation);
	if (stale && t.m->generation != READ_ONCE(t.job->parent_generation)) {
		olaf_down_anew(&t);
		return OLAF_ROUND_RIDE;
	}
	t.slot_index = olaf_round_slot_of(t.job, t.m->chunk);
	t.slot = olaf_round_slot_at(t.slot_index);
	if (!t.slot || !olaf_lock(&t.slot->lock))
		return OLAF_ROUND_RIDE;
	if (olaf_down_is_current(&t)) {
		/* One that answers what an earlier generation sent says nothing about this one's. */
		if (!stale && (t.m->flags & OLAF_FLAG_MISFIT))
			olaf_misfit_note(t.m->job, generation);
		generation = READ_ONCE(t.job->generation);
		olaf_round_void(t.slot, t.m->job, generation);
		if (stale && t.m->action == t.m->generation)
			olaf_down_over(&t, generation);
		else if (!stale && olaf_down_find(&t, generation))
			olaf_down_take(ctx, load, &t);
	}
	olaf_unlock(&t.slot->lock);
	return OLAF_ROUND_RIDE;
}

#endif /* OLAF_ROUND_DOWN_BPF_H */
