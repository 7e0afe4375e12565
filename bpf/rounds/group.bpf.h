/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Results by multicast: one frame for all members, which the network copies (docs/rounds.md).
 *
 * It says the same to all, so only a result that is the same for all leaves so: one that every member
 * of its round is in, or one that the parent made without all of them. Others ride, as each member is
 * told whether it is LATE. Members are in `owed` as ever. Whoever sends the frame takes them all, under
 * the slot's lock.
 */
#ifndef OLAF_ROUND_GROUP_BPF_H
#define OLAF_ROUND_GROUP_BPF_H

#include "bpf/rounds/membership.bpf.h"

/* The lowest member of a round; OLAF_NO_RANK: it has none. */
static __always_inline __u32 olaf_lowest_member(const struct olaf_job *job, __u32 round)
{
	struct olaf_ranks members;
	__u32 i;

	olaf_members_read(job, round, &members);
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		if (members.word[i])
			return 64 * i + olaf_lowest_bit(members.word[i]);
	}
	return OLAF_NO_RANK;
}

/*
 * Does the buffer's result leave in one frame for all? Not where members use the other IP version:
 * the lowest one says which, as it says where from. Under the slot's lock.
 */
static __always_inline int olaf_round_is_for_group(const struct olaf_job *job, __u32 job_index,
						   const struct olaf_round_buffer *buffer)
{
	struct olaf_child *lowest;

	if (!job->setup.group_family ||
	    (!(buffer->flags & OLAF_FLAG_LATE) && olaf_round_lacks(job, buffer)))
		return 0;
	lowest = olaf_child_at(job_index, olaf_lowest_member(job, buffer->round));
	return lowest && lowest->member.family == job->setup.group_family;
}

#endif /* OLAF_ROUND_GROUP_BPF_H */
