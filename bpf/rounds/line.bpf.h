/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lines: results that wait for a frame to leave in, oldest first.
 *
 * A job has a line for each CPU, or each few of them. Results join the line of the CPU that
 * completed them, which has their lanes in its cache; a frame takes the next one of its own CPU's
 * line. Only if that is empty it looks at the others': so nothing waits for a CPU to which no frame
 * comes, and CPUs that have work of their own don't fetch each other's lanes.
 *
 * Map olaf_lines: key olaf_line_place(), value the index of a buffer, and OLAF_LINE_GROUP if its
 * result leaves in one frame for all. A line's places are a ring, whose ends are in its struct
 * olaf_line. A buffer joins when it becomes DONE, under the line's lock. It leaves when nobody is
 * owed its result any more; it may then be in line twice, if it gave way to a newer chunk, and that
 * does no harm. A result for which there was no place is had by asking again.
 * Ends only ever count up. Who moves the head on: delivery.bpf.h.
 */
#ifndef OLAF_ROUND_LINE_BPF_H
#define OLAF_ROUND_LINE_BPF_H

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
	__u32 places = OLAF_LINE_PLACES * job->setup.slots;
	__u32 index = OLAF_LINE_PLACES * (number * olaf_cfg.round_slots + job->setup.first_slot) +
		      (position & (places - 1));

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

#endif /* OLAF_ROUND_LINE_BPF_H */
