/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The slots in which chunks are added up.
 *
 * Map olaf_round_slots: key setup.first_slot + chunk mod P, value struct olaf_round_slot.
 * Writers: XDP and TC programs, under the slot's lock. `owed` is read without it, too, as a hint.
 *
 *   FREE --first contribution--> OPEN --complete--> DONE (at the root)
 *                                  |                 ^
 *                                  +---> UP --RESULT-+        DONE, FREE --newer chunk--> OPEN
 *
 * A buffer of another generation than its job's is void: the next one who looks at it frees it.
 */
#ifndef OLAF_ROUND_SLOTS_BPF_H
#define OLAF_ROUND_SLOTS_BPF_H

#include "bpf/lock.bpf.h"
#include "bpf/rounds/jobs.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* values begin on a page: cache lines are struct olaf_round_slot's */
	__uint(max_entries, 1); /* round_slots, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_round_slot);
} olaf_round_slots SEC(".maps");

static __always_inline struct olaf_round_slot *olaf_round_slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&olaf_round_slots, &index);
}

/* The buffer with this number. */
static __always_inline struct olaf_round_buffer *olaf_round_buffer_at(__u32 buffer_index)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(buffer_index / OLAF_ROUND_BUFFERS);

	return slot ? &slot->buffer[buffer_index & 1] : NULL;
}

/* The slot of a chunk. `slots` is a power of two. */
static __always_inline __u32 olaf_round_slot_of(const struct olaf_job *job, __u32 chunk)
{
	return job->setup.first_slot + (chunk & (job->setup.slots - 1));
}

/* Members that haven't got a result that gives way. Under the slot's lock. */
static __always_inline __u32 olaf_owed_forget(struct olaf_round_buffer *buffer)
{
	__u32 i, owed = 0;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		if (!buffer->owed.word[i])
			continue;
		owed += olaf_bits(buffer->owed.word[i]);
		WRITE_ONCE(buffer->owed.word[i], 0);
	}
	return owed;
}

/* The buffer becomes FREE. Counts the members that hadn't got its result. Under the slot's lock. */
static __always_inline void olaf_round_free(struct olaf_round_buffer *buffer, __u32 job_index)
{
	__u32 owed = 0;

	if (buffer->state == OLAF_ROUND_DONE)
		owed = olaf_owed_forget(buffer);
	WRITE_ONCE(buffer->state, OLAF_ROUND_FREE);
	if (owed)
		olaf_count_job_by(job_index, undelivered, owed);
}

/* Buffers of another generation are void: they become FREE. Under the slot's lock. */
static __always_inline void olaf_round_void(struct olaf_round_slot *slot, __u32 job_index,
					    __u32 generation)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_ROUND_BUFFERS; i++) {
		struct olaf_round_buffer *buffer = &slot->buffer[i];

		if (buffer->state != OLAF_ROUND_FREE && buffer->generation != generation)
			olaf_round_free(buffer, job_index);
	}
}

/* Has the buffer this tag? Void ones were freed before. */
static __always_inline int olaf_round_is(const struct olaf_round_buffer *buffer, __u32 round,
					 __u32 chunk)
{
	return buffer->state != OLAF_ROUND_FREE && buffer->round == round && buffer->chunk == chunk;
}

/* Does the buffer hold this chunk or a later one? */
static __always_inline int olaf_buffer_is_newer(const struct olaf_round_buffer *buffer, __u32 round,
						__u32 chunk)
{
	return buffer->state != OLAF_ROUND_FREE &&
	       !olaf_chunk_is_before(buffer->round, buffer->chunk, round, chunk);
}

/* The buffer with this tag: 0 or 1; OLAF_ROUND_BUFFERS: there is none. */
static __always_inline __u32 olaf_round_find(const struct olaf_round_slot *slot, __u32 round,
					     __u32 chunk)
{
	if (olaf_round_is(&slot->buffer[0], round, chunk))
		return 0;
	return olaf_round_is(&slot->buffer[1], round, chunk) ? 1 : OLAF_ROUND_BUFFERS;
}

/* What the table says of a slot without the contribution's buffer. Below: the buffer to open. */
#define OLAF_MEETS_AHEAD 2
#define OLAF_MEETS_STALE 3

/* The buffer that a new chunk opens, or OLAF_MEETS_*. Under the slot's lock. */
static __always_inline __u32 olaf_round_choose(const struct olaf_round_slot *slot, __u32 round,
					       __u32 chunk)
{
	const struct olaf_round_buffer *buffer = slot->buffer;

	if (olaf_buffer_is_newer(&buffer[0], round, chunk) ||
	    olaf_buffer_is_newer(&buffer[1], round, chunk))
		return OLAF_MEETS_STALE;
	if (buffer[0].state == OLAF_ROUND_FREE)
		return 0;
	if (buffer[1].state == OLAF_ROUND_FREE)
		return 1;
	if (buffer[0].state == OLAF_ROUND_DONE && buffer[1].state == OLAF_ROUND_DONE)
		return !olaf_chunk_is_before(buffer[0].round, buffer[0].chunk, buffer[1].round,
					     buffer[1].chunk);
	if (buffer[0].state == OLAF_ROUND_DONE)
		return 0;
	return buffer[1].state == OLAF_ROUND_DONE ? 1 : OLAF_MEETS_AHEAD;
}

#endif /* OLAF_ROUND_SLOTS_BPF_H */
