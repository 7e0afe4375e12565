/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What comes from the parent: results of what this node sent up, and STALE.
 */
#ifndef OLAF_ROUND_DOWN_BPF_H
#define OLAF_ROUND_DOWN_BPF_H

#include "bpf/ack/sender.bpf.h"
#include "bpf/rounds/contribute.bpf.h"

/* Is the message sent to the group that the parent's results go to? */
static __always_inline int olaf_is_to_parents_group(void *data, const void *end,
						    const struct olaf_arrival *a,
						    const struct olaf_job *job)
{
	const struct olaf_job_setup *setup = &job->setup;

	return (setup->flags & OLAF_JOB_PARENTS_GROUP) && a->update.family == setup->parent_family &&
	       olaf_sender_meant(data, end, a, setup->parent_group_be, setup->parent_family);
}

/* Does the message come from the job's parent, to this node's own address or for all its children? */
static __always_inline int olaf_is_from_parent(void *data, const void *end,
					       const struct olaf_arrival *a,
					       const struct olaf_job *job)
{
	const struct olaf_job_setup *setup = &job->setup;

	return setup->parent_family &&
	       olaf_sender_is(data, end, a, setup->parent_addr_be, setup->parent_family) &&
	       olaf_sender_port(data, end, a) == setup->parent_port_be &&
	       (olaf_sender_meant(data, end, a, setup->source_addr_be, setup->parent_family) ||
		olaf_is_to_parents_group(data, end, a, job));
}

/* The time from sending up to the result, smoothed: an eighth of each new one. */
static __always_inline void olaf_turnaround_note(struct olaf_job *job, __u64 taken_ns)
{
	__u64 usual_ns = READ_ONCE(job->turnaround_ns);

	WRITE_ONCE(job->turnaround_ns, usual_ns ? usual_ns - usual_ns / 8 + taken_ns / 8 : taken_ns);
}

/* Reads bytes of the frame at hand, which XDP and TC do each in their way. 0, or negative. */
typedef long (*olaf_frame_load)(void *ctx, __u32 at, void *to, __u32 bytes);

static __always_inline long olaf_frame_load_xdp(void *ctx, __u32 at, void *to, __u32 bytes)
{
	return bpf_xdp_load_bytes(ctx, at, to, bytes);
}

/* The result's lanes and fields take the buffer's place. Under the slot's lock. */
static __always_inline void olaf_down_take(void *ctx, olaf_frame_load load,
					   const struct olaf_meeting *t, __u32 which)
{
	__u32 at = t->a->update.header_bytes + sizeof(struct olaf_header);
	__u32 index = olaf_round_buffer_of(t->slot_index, which & 1);
	__u64 *lanes = olaf_round_lanes_at(index);
	struct olaf_round_buffer *buffer = olaf_met(t, which);
	__u32 count = olaf_clamp(t->a->update.lanes, 1, olaf_cfg.max_lanes);

	if (!lanes || load(ctx, at, lanes, 8 * count))
		return;
	if (buffer->state == OLAF_ROUND_UP && buffer->up_ns == buffer->first_up_ns &&
	    t->a->now > buffer->up_ns)
		olaf_turnaround_note(t->job, t->a->now - buffer->up_ns);
	buffer->count = t->m->count;
	buffer->exponent = t->m->exponent;
	buffer->generated_ns = t->m->generated_ns;
	buffer->flags = t->m->flags & (OLAF_FLAG_PARTIAL | OLAF_FLAG_LATE);
	/* The parent went on without what is gathered here. */
	if (buffer->state == OLAF_ROUND_OPEN)
		buffer->flags |= OLAF_FLAG_LATE;
	olaf_round_done(t->job, t->m->job, t->slot_index, which);
}

/*
 * STALE of the generation that is known: above, this chunk is over. Nobody is owed a result, and
 * whoever asks is told.
 */
static __always_inline void olaf_down_over(const struct olaf_meeting *t)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_ROUND_BUFFERS; i++) {
		struct olaf_round_buffer *buffer = &t->slot->buffer[i];

		if (buffer->state != OLAF_ROUND_UP ||
		    !olaf_round_is(buffer, t->m->round, t->m->chunk))
			continue;
		buffer->flags |= OLAF_FLAG_STALE;
		WRITE_ONCE(buffer->state, OLAF_ROUND_DONE);
	}
}

/* STALE of another generation: the parent's children must agree anew, and so must this node's. */
static __always_inline void olaf_down_anew(const struct olaf_meeting *t)
{
	if (!olaf_job_lock(t->job))
		return;
	if (olaf_job_runs(t->job) && t->m->count == t->job->parent_generation &&
	    t->m->generation != t->job->parent_generation)
		olaf_job_stop(t->job);
	olaf_unlock(&t->job->lock);
}

/*
 * Is the parent's message of the generation that both know now? Under the slot's lock: whatever begins
 * anew behind this answer finds the slot only when the message is done with.
 */
static __always_inline int olaf_down_is_current(const struct olaf_meeting *t)
{
	return olaf_job_runs(t->job) &&
	       t->m->generation == READ_ONCE(t->job->parent_generation);
}

/* The parent's result. Under the slot's lock. */
static __always_inline void olaf_down_meet(void *ctx, olaf_frame_load load,
					   const struct olaf_meeting *t)
{
	__u32 generation = READ_ONCE(t->job->generation), i;

	olaf_round_void(t, generation);
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_ROUND_BUFFERS; i++) {
		if (!olaf_round_is(&t->slot->buffer[i], t->m->round, t->m->chunk))
			continue;
		if (t->slot->buffer[i].state != OLAF_ROUND_DONE)
			olaf_down_take(ctx, load, t, i);
		return;
	}
}

/* The parent's RESULT at hand. Returns enum olaf_round_act. */
static __always_inline int olaf_down_by(void *ctx, olaf_frame_load load)
{
	struct olaf_meeting t = { .a = olaf_arrival_here(), .m = olaf_round_message_here() };
	int stale;

	if (!t.a || !t.m)
		return OLAF_ROUND_LEAVE;
	t.job = olaf_job_at(t.m->job);
	if (!t.job)
		return OLAF_ROUND_LEAVE;
	stale = t.m->flags & OLAF_FLAG_STALE;
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
		if (!stale)
			olaf_down_meet(ctx, load, &t);
		else if (t.m->count == t.m->generation)
			olaf_down_over(&t);
	}
	olaf_unlock(&t.slot->lock);
	return OLAF_ROUND_RIDE;
}

/* The same in XDP. A global function: verified once. */
__noinline int olaf_down(struct xdp_md *ctx)
{
	return olaf_down_by(ctx, olaf_frame_load_xdp);
}

#endif /* OLAF_ROUND_DOWN_BPF_H */
