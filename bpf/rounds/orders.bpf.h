/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Steps of orders about jobs that user space gives (bpf/jobs.bpf.c). */
#ifndef OLAF_ORDERS_BPF_H
#define OLAF_ORDERS_BPF_H

#include <linux/errno.h>

#include "bpf/ack/member.bpf.h"
#include "bpf/rounds/ids.bpf.h"
#include "bpf/rounds/delivery.bpf.h"

/* A walk over a job's slots or children. */
struct olaf_walk {
	__u32 job; /* index */
	__u32 first; /* slot */
	__u32 generation;
	__u32 busy; /* that were held by others: ask again */
};

/* A buffer as if nobody had ever used it. Under its slot's lock. */
static __always_inline void olaf_round_empty(struct olaf_round_buffer *buffer)
{
	olaf_owed_forget(buffer);
	olaf_ranks_clear(&buffer->in);
	WRITE_ONCE(buffer->state, OLAF_ROUND_FREE);
	buffer->generation = 0;
	buffer->round = 0;
	buffer->chunk = 0;
	buffer->added = 0;
	buffer->count = 0;
	buffer->flags = 0;
}

static long olaf_empty_slot(__u32 i, struct olaf_walk *walk)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(walk->first + i);

	if (!slot)
		return 1;
	if (!olaf_lock(&slot->lock)) {
		walk->busy++;
		return 0;
	}
	olaf_round_empty(&slot->buffer[0]);
	olaf_round_empty(&slot->buffer[1]);
	olaf_unlock(&slot->lock);
	return 0;
}

static long olaf_forget_child(__u32 rank, struct olaf_walk *walk)
{
	struct olaf_child *child = olaf_child_at(walk->job, rank);

	if (!child)
		return 1;
	if (!olaf_member_open(&child->member)) {
		walk->busy++;
		return 0;
	}
	olaf_member_clear(&child->member);
	olaf_member_close(&child->member);
	WRITE_ONCE(child->stamp, 0);
	WRITE_ONCE(child->newest_ns, 0);
	WRITE_ONCE(child->joined_ns, 0);
	WRITE_ONCE(child->waited_ns, 0);
	return 0;
}

/* Both ends count up for ever: who takes a delivery right now mustn't move the head past the tail. */
static long olaf_empty_line(__u32 number, struct olaf_walk *walk)
{
	struct olaf_job *job = olaf_job_at(walk->job);
	struct olaf_line *line;

	if (!job)
		return 1;
	line = olaf_line_at(job, number);
	if (!olaf_lock(&line->lock)) {
		walk->busy++;
		return 0;
	}
	WRITE_ONCE(line->head, line->tail);
	olaf_unlock(&line->lock);
	return 0;
}

/*
 * Forgets what was under way in the job that stands there or stood there, and its members. It must
 * be in state NONE. Returns 0 or -EAGAIN.
 */
static __always_inline int olaf_job_clear(__u32 index, __u32 first, __u32 slots)
{
	struct olaf_walk walk = { .job = index, .first = first };

	bpf_loop(slots, olaf_empty_slot, &walk, 0);
	bpf_loop(OLAF_RANKS, olaf_forget_child, &walk, 0);
	bpf_loop(OLAF_MAX_LINES, olaf_empty_line, &walk, 0);
	return walk.busy ? -EAGAIN : 0;
}

/*
 * FLUSH of one buffer. An inner node has no frame here that could go up, and floats are made of sums
 * by the program that adds them: the next duplicate of any member does that, and the buffer counts
 * as overdue until then.
 */
static __always_inline void olaf_round_flush(struct olaf_job *job, const struct olaf_walk *walk,
					     __u32 slot, __u32 place,
					     struct olaf_round_buffer *buffer)
{
	if (buffer->state != OLAF_ROUND_OPEN || buffer->generation != walk->generation ||
	    !buffer->added)
		return;
	if (job->setup.parent_family || olaf_shape_is_floats(job->setup.shape)) {
		buffer->opened_ns = OLAF_ROUND_OVERDUE;
		return;
	}
	buffer->flags |= OLAF_FLAG_PARTIAL;
	olaf_round_done(job, walk->job, slot, place);
}

static long olaf_flush_slot(__u32 i, struct olaf_walk *walk)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(walk->first + i);
	struct olaf_job *job = olaf_job_at(walk->job);

	if (!slot || !job)
		return 1;
	if (!olaf_lock(&slot->lock)) {
		walk->busy++;
		return 0;
	}
	olaf_round_flush(job, walk, walk->first + i, 0, &slot->buffer[0]);
	olaf_round_flush(job, walk, walk->first + i, 1, &slot->buffer[1]);
	olaf_unlock(&slot->lock);
	return 0;
}

#endif /* OLAF_ORDERS_BPF_H */
