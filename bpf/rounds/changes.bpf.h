/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a job's members change: JOIN, LEAVE, silence, and rounds that begin (docs/rounds.md,
 * "Members"). All under the job's lock.
 */
#ifndef OLAF_ROUND_CHANGES_BPF_H
#define OLAF_ROUND_CHANGES_BPF_H

#include "bpf/rounds/membership.bpf.h"
#include "bpf/rounds/message.bpf.h"
#include "bpf/rounds/slots.bpf.h"

/* Silent members are looked for this often at most. */
#define OLAF_JUDGE_NS 50000000ULL

/* Rounds: none that is as far back is under way. */
#define OLAF_LONG_AGO (1U << 30)

/* A look for silent members: those that a buffer lacks. */
struct olaf_judging {
	__u32 job; /* index */
	__u32 buffer; /* olaf_round_buffer_of() */
	__u64 now;
};

static __always_inline int olaf_members_differ(const struct olaf_job *job)
{
	const struct olaf_ranks *absent = job->membership.absent;

	return absent[0].word[0] != absent[1].word[0] || absent[0].word[1] != absent[1].word[1] ||
	       absent[0].word[2] != absent[1].word[2] || absent[0].word[3] != absent[1].word[3];
}

static __always_inline int olaf_has_members(const struct olaf_job *job)
{
	__u32 now = olaf_membership_now(job);

	return olaf_members_word(job, now, 0) || olaf_members_word(job, now, 1) ||
	       olaf_members_word(job, now, 2) || olaf_members_word(job, now, 3);
}

/*
 * A chunk of the round was opened. When the 2 P-th one since a change is, every member holds all results
 * from before it, so those are over, and both sets may be one again. Under the job's lock.
 */
static __always_inline void olaf_membership_opened(struct olaf_job *job, __u32 round)
{
	struct olaf_membership *membership = &job->membership;
	__u32 now = olaf_membership_now(job), i;

	if (!(membership->flags & OLAF_MEMBERS_BEGUN) ||
	    olaf_is_before(membership->newest_round, round))
		WRITE_ONCE(membership->newest_round, round);
	WRITE_ONCE(membership->flags, READ_ONCE(membership->flags) | OLAF_MEMBERS_BEGUN);
	if (!membership->unsettled || (!(membership->flags & OLAF_MEMBERS_YOUNG) &&
				       olaf_is_before(round, membership->since)))
		return;
	if (membership->unsettled == 1) {
#pragma clang loop unroll(full)
		for (i = 0; i < OLAF_RANK_WORDS; i++)
			WRITE_ONCE(membership->absent[!now].word[i], membership->absent[now & 1].word[i]);
		WRITE_ONCE(membership->flags, OLAF_MEMBERS_BEGUN);
	}
	WRITE_ONCE(membership->unsettled, READ_ONCE(membership->unsettled) - 1);
}

/*
 * A chunk of the round is about to be opened. Returns 0, or -1: not now. A global function: rare, and
 * verified once. Under the slot's lock.
 */
__noinline int olaf_round_begins(__u32 job_index, __u32 round)
{
	struct olaf_job *job = olaf_job_at(job_index);

	if (!job || !olaf_job_lock(job))
		return -1;
	olaf_membership_opened(job, round);
	olaf_unlock(&job->lock);
	return 0;
}

/* Must that be told? Nearly always the round has begun, and nothing has changed for long. */
static __always_inline int olaf_round_is_told(const struct olaf_job *job, __u32 round)
{
	return !READ_ONCE(job->membership.unsettled) &&
	       !olaf_is_before(READ_ONCE(job->membership.newest_round), round);
}

/*
 * The rank is a member from a new round on, or from that of a joining that hasn't begun. Returns
 * enum olaf_control_status.
 */
static __always_inline int olaf_member_joins(struct olaf_job *job, struct olaf_child *child,
					     __u32 rank)
{
	struct olaf_membership *membership = &job->membership;
	__u32 now = olaf_membership_now(job), first = olaf_next_round(job), i;
	__u64 joining = membership->joining;

	if (olaf_members_differ(job)) {
		if (!olaf_is_before(membership->newest_round, (__u32)joining))
			return OLAF_CONTROL_WAIT;
		first = joining;
		olaf_absent_put(job, now, rank, 0);
		membership->since = first;
	} else {
		/* Both sets are the same: all rounds go by one of them while the other changes. */
		WRITE_ONCE(membership->joining, joining >> 32 << 32 | (first - OLAF_LONG_AGO));
		olaf_release_as(&membership->away, 1);
#pragma clang loop unroll(full)
		for (i = 0; i < OLAF_RANK_WORDS; i++)
			WRITE_ONCE(membership->absent[!now].word[i], membership->absent[now & 1].word[i]);
		olaf_absent_put(job, !now, rank, 0);
		olaf_release_as(&membership->since, first);
		WRITE_ONCE(membership->joining, ((joining >> 32) + 1) << 32 | first);
	}
	olaf_membership_unsettle(job, 0);
	child->first_round = first;
	return OLAF_CONTROL_DONE;
}

/*
 * The job has no member any more: nobody needs what was before, and who joins is the first. If it waits
 * for members to agree, it needn't, unless it must agree with a parent. Under the job's lock.
 */
static __always_inline void olaf_job_deserted(struct olaf_job *job)
{
	WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) & OLAF_MEMBERS_BEGUN);
	if (job->state != OLAF_JOB_SYNCING || job->setup.parent_family)
		return;
	job->next_round = olaf_next_round(job);
	job->next_chunk = 0;
	olaf_release_as(&job->state, OLAF_JOB_RUNNING);
}

/*
 * JOIN. A member that asks anew has lost what it contributed: nothing waits for that any more, and it
 * comes in as somebody new. Returns enum olaf_control_status.
 */
static __always_inline int olaf_join_judge(struct olaf_job *job, struct olaf_child *child,
					   const struct olaf_round_message *m)
{
	int is_out = olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], m->rank);
	int runs = job->state == OLAF_JOB_RUNNING;
	int status;

	if (m->generated_ns < child->joined_ns)
		return OLAF_CONTROL_OLD;
	/* A member that hasn't heard so doesn't SYNC, and the others would wait for it: it asks anew. */
	if (!is_out && m->generated_ns == child->joined_ns)
		return runs ? OLAF_CONTROL_DONE : OLAF_CONTROL_OLD;
	if (!is_out)
		olaf_member_leaves(job, m->rank, olaf_next_round(job),
				   OLAF_MEMBERS_LEFT | OLAF_MEMBERS_DOUBTFUL);
	if (!olaf_has_members(job))
		olaf_job_deserted(job);
	if (job->state != OLAF_JOB_RUNNING || job->membership.flags & OLAF_MEMBERS_YOUNG)
		return OLAF_CONTROL_WAIT;
	status = olaf_member_joins(job, child, m->rank);
	if (status == OLAF_CONTROL_DONE)
		child->joined_ns = m->generated_ns;
	return status;
}

/*
 * LEAVE: WAIT as long as somebody may need what it contributed. Where the members must agree anew, they may
 * sum again what others have with its part. Returns enum olaf_control_status.
 */
static __always_inline int olaf_leave_judge(struct olaf_job *job, const struct olaf_round_message *m)
{
	const struct olaf_membership *membership = &job->membership;

	if (!olaf_ranks_has(&membership->absent[olaf_membership_now(job)], m->rank))
		olaf_member_leaves(job, m->rank, m->round,
				   OLAF_MEMBERS_LEFT | (job->state == OLAF_JOB_RUNNING ?
								0 :
								OLAF_MEMBERS_DOUBTFUL));
	return membership->unsettled && olaf_has_members(job) ? OLAF_CONTROL_WAIT : OLAF_CONTROL_DONE;
}

/* One rank. Silent is who sent nothing since chunks were first completed without it. */
static long olaf_judge_child(__u32 rank, struct olaf_judging *judging)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(judging->buffer / OLAF_ROUND_BUFFERS);
	struct olaf_child *child = olaf_child_at(judging->job, rank);
	struct olaf_job *job = olaf_job_at(judging->job);
	const struct olaf_round_buffer *buffer;

	if (!slot || !child || !job || rank >= job->setup.children)
		return 1;
	buffer = &slot->buffer[judging->buffer & 1];
	if (olaf_ranks_has(&buffer->in, rank) ||
	    olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], rank))
		return 0;
	if (!child->waited_ns || child->waited_ns <= READ_ONCE(child->member.last_seen_ns)) {
		child->waited_ns = judging->now;
		return 0;
	}
	if (judging->now < child->waited_ns + olaf_cfg.member_timeout_ns)
		return 0;
	olaf_member_leaves(job, rank, olaf_next_round(job), OLAF_MEMBERS_LEFT | OLAF_MEMBERS_DOUBTFUL);
	child->waited_ns = 0;
	olaf_count_job(judging->job, silent);
	return 0;
}

/*
 * The buffer is completed without members. Who is silent for long is none any more. A global function:
 * rare, and verified once. Under the slot's lock.
 */
__noinline int olaf_members_judge(__u32 job_index, __u32 buffer, __u64 now)
{
	struct olaf_judging judging = { .job = job_index, .buffer = buffer, .now = now };
	struct olaf_job *job = olaf_job_at(job_index);

	if (!job || !olaf_job_lock(job))
		return 0;
	WRITE_ONCE(job->membership.judged_ns, now);
	bpf_loop(OLAF_RANKS, olaf_judge_child, &judging, 0);
	olaf_unlock(&job->lock);
	return 0;
}

static __always_inline int olaf_members_are_judged(const struct olaf_job *job, __u64 now)
{
	__u64 judged_ns = READ_ONCE(job->membership.judged_ns);

	return now < judged_ns || now - judged_ns < OLAF_JUDGE_NS;
}

#endif /* OLAF_ROUND_CHANGES_BPF_H */
