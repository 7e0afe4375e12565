/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Results that wait for a frame to leave in, and the members that are owed them.
 *
 * Lines. A job has a line for each CPU, or each few of them. Results join the line of the CPU that
 * completed them, which has their lanes in its cache. A frame looks at the other lines only if its own
 * CPU's is empty: so nothing waits for a CPU to which no frame comes, and CPUs that have work of their own
 * don't fetch each other's lanes.
 *
 * Map olaf_lines: key olaf_line_place(), value the number of a buffer, and OLAF_LINE_GROUP if its result
 * leaves in one frame for all. A line's places are a ring, whose ends are in its struct olaf_line; ends only
 * ever count up. A buffer joins when it becomes DONE, under the line's lock. It leaves when nobody is owed
 * its result any more; it may be in line twice, if it gave way to a newer chunk, which does no harm. A
 * result for which there was no place is had by asking again.
 *
 * Deliveries. A delivery is a result of a line and a member that is owed it. A frame looks at the head of a
 * line without a lock, takes the lock of the slot that the head names, and there takes the member's bit out
 * of `owed`: so each delivery happens once, and what is delivered is what the buffer holds. Where a newer
 * chunk has taken the buffer meanwhile, and is done, that is delivered. A frame that sees that nobody is owed
 * the head's result moves the head on, from the position that it looked at: so each position is passed once.
 * A place that was taken again between two looks names another buffer that is in line, which is as good.
 *
 * Multicast. One frame says the same to all members, and the network copies it. So only a result that is
 * the same for all leaves so: one that every member of its round is in, or one that the parent made without
 * all of them. Others leave for each member by itself, and say whether it is LATE. The frame that moves the
 * head past a result for all, under the slot's lock, takes all members' bits.
 */
#ifndef OLAF_ROUND_DELIVERIES_BPF_H
#define OLAF_ROUND_DELIVERIES_BPF_H

#include "bpf/rounds/slots.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* OLAF_LINE_PLACES x round_slots x round_lines, set by the loader */
	__type(key, __u32);
	__type(value, __u32);
} olaf_lines SEC(".maps");

/* Places that were filled are seen behind the tail that tells of them. */
static __always_inline void olaf_line_barrier(struct olaf_line *line)
{
#ifdef __TARGET_ARCH_x86
	/* Loads stay in order here. */
	(void)line;
	asm volatile("" ::: "memory");
#else
	__sync_fetch_and_add(&line->tail, 0);
#endif
}

/* Results in line, or a few more: the head is read first, for it may move on meanwhile. */
static __always_inline __u32 olaf_line_length(const struct olaf_line *line)
{
	__u32 head = READ_ONCE(line->head);

	return READ_ONCE(line->tail) - head;
}

/* The number of this CPU's line. */
static __always_inline __u32 olaf_line_here(void)
{
	return bpf_get_smp_processor_id() & (olaf_cfg.round_lines - 1);
}

static __always_inline struct olaf_line *olaf_line_at(struct olaf_job *job, __u32 number)
{
	return &job->line[number & (OLAF_MAX_LINES - 1)];
}

/* Does a result wait in any line? */
static __always_inline int olaf_lines_wait(struct olaf_job *job)
{
	__u32 i;

	for (i = 0; i < OLAF_MAX_LINES && i < olaf_cfg.round_lines; i++) {
		if (olaf_line_length(olaf_line_at(job, i)))
			return 1;
	}
	return 0;
}

static __always_inline __u32 *olaf_line_place(const struct olaf_job *job, __u32 number,
					      __u32 position)
{
	__u32 index = OLAF_LINE_PLACES * (number * olaf_cfg.round_slots + job->setup.first_slot) +
		      (position & (OLAF_LINE_PLACES * job->setup.slots - 1));

	return bpf_map_lookup_elem(&olaf_lines, &index);
}

/*
 * The buffer, or with OLAF_LINE_GROUP, has a result that is owed to members. Under its slot's lock.
 */
static __always_inline void olaf_line_join(struct olaf_job *job, __u32 buffer)
{
	__u32 number = olaf_line_here(), *place;
	struct olaf_line *line = olaf_line_at(job, number);

	if (!olaf_lock(&line->lock))
		return;
	place = olaf_line_place(job, number, line->tail);
	if (place && olaf_line_length(line) < OLAF_LINE_PLACES * job->setup.slots) {
		*place = buffer;
		olaf_release_as(&line->tail, line->tail + 1);
	}
	olaf_unlock(&line->lock);
}

/*
 * Does the buffer's result leave in one frame for all? Not where members use the other IP version:
 * the lowest one says which, as it says where from. Under the slot's lock.
 */
static __always_inline int olaf_round_is_for_group(const struct olaf_job *job, __u32 job_index,
						   const struct olaf_round_buffer *buffer)
{
	struct olaf_child *lowest;
	__u32 rank;

	if (!job->setup.group_family ||
	    (!(buffer->flags & OLAF_FLAG_LATE) && olaf_round_lacks(job, buffer)))
		return 0;
	rank = olaf_lowest_member(job, buffer->round);
	lowest = olaf_child_at(job_index, rank);
	return lowest && lowest->member.family == job->setup.group_family;
}

/* Looks at the heads of lines that one frame takes: at results that nobody is owed, and empty lines. */
#define OLAF_LINE_LOOKS (8 + OLAF_MAX_LINES - 1)

/* A result at the head of a line, and once it was taken, the member that it is for. */
struct olaf_delivery {
	__u32 buffer; /* its number, and OLAF_LINE_GROUP */
	__u32 line; /* the number of the line */
	__u32 position; /* of the head */
	__u32 rank; /* taken for this one; OLAF_EVERY_WORKER: for all, in one frame */
};

/*
 * A farewell is complete: all members hold all their sums, and the run needs the job no more. Under the slot's
 * lock. A global function: rare, and verified once.
 */
__noinline int olaf_run_farewell(__u32 job_index, __u32 generation)
{
	struct olaf_job *job = olaf_job_at(job_index);

	if (!job || !olaf_job_lock(job))
		return 0;
	if (job->generation == generation)
		olaf_run_end(job);
	olaf_job_unlock(job);
	return 0;
}

/* The buffer's lanes are the result: every member of its round is owed it. Under the slot's lock. */
static __always_inline void olaf_round_done(struct olaf_job *job, __u32 job_index,
					    struct olaf_round_buffer *buffer, __u32 buffer_index)
{
	struct olaf_ranks members;
	__u32 i;

	olaf_members_read(job, buffer->round, &members);
	buffer->summed = 0;
	WRITE_ONCE(buffer->state, OLAF_ROUND_DONE);
	olaf_count_job(job_index, completed);
	if (buffer->flags & OLAF_FLAG_PARTIAL)
		olaf_count_job(job_index, partial);
	if (buffer->chunks == OLAF_FAREWELL_CHUNKS &&
	    !(buffer->flags & (OLAF_FLAG_PARTIAL | OLAF_FLAG_MISFIT)))
		olaf_run_farewell(job_index, buffer->generation);
	if (olaf_round_is_for_group(job, job_index, buffer))
		buffer_index |= OLAF_LINE_GROUP;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		WRITE_ONCE(buffer->owed.word[i], members.word[i]);
	olaf_line_join(job, buffer_index);
}

/* Takes the lowest rank that is owed the buffer's result. Returns it, or OLAF_NO_RANK. Under the slot's lock. */
static __always_inline __u32 olaf_owed_take(struct olaf_round_buffer *buffer)
{
	__u64 word;
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		word = buffer->owed.word[i];
		if (!word)
			continue;
		WRITE_ONCE(buffer->owed.word[i], word & (word - 1));
		return 64 * i + olaf_lowest_bit(word);
	}
	return OLAF_NO_RANK;
}

/*
 * The rank is answered by itself: what it was owed in a frame of its own it isn't any more. Returns
 * whether it was. Under the slot's lock.
 */
static __always_inline int olaf_owed_settle(const struct olaf_job *job, __u32 job_index,
					    struct olaf_round_buffer *buffer, __u32 rank)
{
	__u64 *word, bit = 1ULL << (rank & 63);

	if (olaf_round_is_for_group(job, job_index, buffer))
		return 0;
	word = &buffer->owed.word[olaf_rank_word(rank)];
	if (!(*word & bit))
		return 0;
	WRITE_ONCE(*word, *word & ~bit);
	return 1;
}

/* Is anybody owed the buffer's result? Without its slot's lock a hint. */
static __always_inline int olaf_owes(const struct olaf_round_buffer *buffer)
{
	return READ_ONCE(buffer->owed.word[0]) || READ_ONCE(buffer->owed.word[1]) ||
	       READ_ONCE(buffer->owed.word[2]) || READ_ONCE(buffer->owed.word[3]);
}

/* A result joins the line again. A global function: rare, and verified once. Under its slot's lock. */
__noinline int olaf_line_rejoin(__u32 job_index, __u32 buffer)
{
	struct olaf_job *job = olaf_job_at(job_index);

	if (job)
		olaf_line_join(job, buffer);
	return 0;
}

/* The line's head moves on from this position. Returns whether it was there. */
static __always_inline int olaf_line_pass(struct olaf_line *line, __u32 position)
{
	return __sync_val_compare_and_swap(&line->head, position, position + 1) == position;
}

/*
 * Takes the result for all, at the head of its line. Returns for how many. 0: another frame has taken it, or it
 * isn't the same for all any more, as once a joining is over older rounds have its members. Then it leaves for
 * each by itself. Under the slot's lock.
 */
static __always_inline __u32 olaf_delivery_take_all(struct olaf_job *job, __u32 job_index,
						    struct olaf_round_buffer *buffer,
						    struct olaf_delivery *delivery)
{
	if (!olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position))
		return 0;
	delivery->rank = OLAF_EVERY_WORKER;
	if (olaf_round_is_for_group(job, job_index, buffer))
		return olaf_owed_forget(buffer);
	if (olaf_owes(buffer))
		olaf_line_rejoin(job_index, delivery->buffer & ~OLAF_LINE_GROUP);
	return 0;
}

/*
 * Takes the result for whom it is to leave next: delivery->rank. Returns for how many members. 0: nobody is owed
 * it any more. Under the slot's lock.
 */
static __always_inline __u32 olaf_delivery_take(struct olaf_job *job, __u32 job_index,
						struct olaf_round_buffer *buffer,
						struct olaf_delivery *delivery)
{
	if (buffer->state != OLAF_ROUND_DONE)
		return 0;
	if (buffer->generation != READ_ONCE(job->generation)) {
		olaf_round_free(buffer, job_index);
		return 0;
	}
	if (delivery->buffer & OLAF_LINE_GROUP)
		return olaf_delivery_take_all(job, job_index, buffer, delivery);
	delivery->rank = olaf_owed_take(buffer);
	if (!olaf_owes(buffer))
		olaf_line_pass(olaf_line_at(job, delivery->line), delivery->position);
	return delivery->rank != OLAF_NO_RANK;
}

/* Is all that waits one frame, for all? Then the frame at hand can be it. */
static __always_inline int olaf_line_is_one_frame(struct olaf_job *job)
{
	__u32 waiting = 0, i, length;
	__u32 *place = NULL;

	for (i = 0; i < OLAF_MAX_LINES && i < olaf_cfg.round_lines; i++) {
		length = olaf_line_length(olaf_line_at(job, i));
		if (!length)
			continue;
		waiting += length;
		place = olaf_line_place(job, i, READ_ONCE(olaf_line_at(job, i)->head));
	}
	return waiting == 1 && place && (READ_ONCE(*place) & OLAF_LINE_GROUP);
}

/* What a look at the head of a line finds. */
enum olaf_line_found {
	OLAF_LINE_EMPTY = 0,
	OLAF_LINE_WAITS = 1, /* a result that is owed to members */
	OLAF_LINE_AGAIN = 2, /* nobody is owed the head's result */
};

/* Looks at the head of one line. */
static __always_inline enum olaf_line_found olaf_line_look(struct olaf_job *job, __u32 number,
							   struct olaf_delivery *delivery)
{
	struct olaf_line *line = olaf_line_at(job, number);
	__u32 head = READ_ONCE(line->head), *place;
	struct olaf_round_buffer *buffer;

	if (head == READ_ONCE(line->tail))
		return OLAF_LINE_EMPTY;
	olaf_line_barrier(line);
	place = olaf_line_place(job, number, head);
	if (!place)
		return OLAF_LINE_EMPTY;
	delivery->buffer = READ_ONCE(*place);
	delivery->line = number;
	delivery->position = head;
	buffer = olaf_round_buffer_at(delivery->buffer & ~OLAF_LINE_GROUP);
	if (!buffer)
		return OLAF_LINE_EMPTY;
	if (olaf_owes(buffer))
		return OLAF_LINE_WAITS;
	olaf_line_pass(line, head);
	return OLAF_LINE_AGAIN;
}

/*
 * Finds the next result of the job's that members are owed, of this CPU's line first. Returns whether there is
 * one. olaf_delivery_take() takes it.
 */
static __always_inline int olaf_line_next(struct olaf_job *job, struct olaf_delivery *delivery)
{
	__u32 here = olaf_line_here(), passed = 0, i;

	for (i = 0; i < OLAF_LINE_LOOKS; i++) {
		switch (olaf_line_look(job, (here + passed) & (olaf_cfg.round_lines - 1), delivery)) {
		case OLAF_LINE_WAITS:
			return 1;
		case OLAF_LINE_EMPTY:
			if (++passed == olaf_cfg.round_lines)
				return 0;
			break;
		case OLAF_LINE_AGAIN:
			break;
		}
	}
	return 0;
}

#endif /* OLAF_ROUND_DELIVERIES_BPF_H */
