/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Agreeing where to begin: the state of a job, and SYNC messages of its children (docs/rounds.md).
 *
 *   SYNCING --all children have asked; at a node, the parent has answered--> RUNNING
 *   RUNNING --a child asks anew; the parent's generation is another one--> SYNCING
 *
 * Each way back to SYNCING takes the next generation, so that what is under way becomes void at
 * once. All steps are taken under the job's lock.
 */
#ifndef OLAF_ROUND_AGREE_BPF_H
#define OLAF_ROUND_AGREE_BPF_H

#include "bpf/rounds/changes.bpf.h"

static __always_inline int olaf_job_runs(const struct olaf_job *job)
{
	return READ_ONCE(job->state) == OLAF_JOB_RUNNING;
}

static __always_inline int olaf_job_is_root(const struct olaf_job *job)
{
	return !job->setup.parent_family;
}

/*
 * Its members must agree anew. Under the job's lock. Whoever sees without it that the job is stopped
 * sees the next generation too: STALE with the old one would say that a chunk is over.
 */
static __always_inline void olaf_job_stop(struct olaf_job *job)
{
	__u32 generation = job->generation + 1;

	WRITE_ONCE(job->generation, generation ? generation : 1);
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
	olaf_ranks_clear(&job->asked);
	WRITE_ONCE(job->pool, job->setup.pool);
	olaf_membership_stopped(job);
}

/* How many members haven't asked; *lowest is the first of them. Under the job's lock. */
static __always_inline __u32 olaf_job_missing(const struct olaf_job *job, __u32 *lowest)
{
	__u32 now = olaf_membership_now(job), i, missing = 0;
	__u64 word;

	*lowest = OLAF_NO_RANK;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		word = olaf_members_word(job, now, i) & ~job->asked.word[i];
		if (word && !missing)
			*lowest = 64 * i + olaf_lowest_bit(word & -word);
		missing += olaf_bits(word);
	}
	return missing;
}

/* This node has something new to tell its parent. Under the job's lock. */
static __always_inline void olaf_job_stamp(struct olaf_job *job)
{
	__u64 now = bpf_ktime_get_tai_ns();

	job->stamp = now > job->stamp ? now : job->stamp + 1;
}

static __always_inline int olaf_nobody_has_asked(const struct olaf_job *job)
{
	return !job->asked.word[0] && !job->asked.word[1] && !job->asked.word[2] &&
	       !job->asked.word[3];
}

/* A child asks for the first time since it or the job stopped. Under the job's lock. */
static __always_inline void olaf_sync_note(struct olaf_job *job, const struct olaf_round_message *m)
{
	if (olaf_job_runs(job))
		olaf_job_stop(job);
	if (olaf_nobody_has_asked(job) ||
	    olaf_chunk_is_before(m->round, m->chunk, job->next_round, job->next_chunk)) {
		job->next_round = m->round;
		job->next_chunk = m->chunk;
	}
	if (m->pool < job->pool)
		WRITE_ONCE(job->pool, m->pool);
	olaf_ranks_add(&job->asked, m->rank);
	olaf_job_stamp(job);
}

/*
 * All have agreed where to begin. At the very first chunk nobody had joined: none could before that
 * chunk's round was over for all. Under the job's lock.
 */
static __always_inline void olaf_job_run(struct olaf_job *job)
{
	if (!job->next_round && !job->next_chunk)
		WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) & ~OLAF_MEMBERS_FORGOT);
	olaf_release_as(&job->state, OLAF_JOB_RUNNING);
}

/*
 * A child's SYNC. Returns enum olaf_control_status: WAIT also where all children have asked and
 * the parent hasn't answered. Under the job's lock.
 */
static __always_inline int olaf_sync_judge(struct olaf_job *job, struct olaf_child *child,
					   const struct olaf_round_message *m)
{
	__u32 lowest;

	if (olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], m->rank))
		return OLAF_CONTROL_GONE;
	if (m->generated_ns < child->stamp)
		return OLAF_CONTROL_OLD;
	if (m->generated_ns == child->stamp) {
		if (olaf_job_runs(job))
			return OLAF_CONTROL_DONE;
		if (!olaf_ranks_has(&job->asked, m->rank))
			return OLAF_CONTROL_OLD;
	} else {
		child->stamp = m->generated_ns;
		olaf_sync_note(job, m);
	}
	job->asker = m->rank;
	if (olaf_job_missing(job, &lowest) || !olaf_job_is_root(job))
		return OLAF_CONTROL_WAIT;
	olaf_job_run(job);
	return OLAF_CONTROL_DONE;
}

/*
 * The parent's answer to this node's SYNC. Returns whether it says something to the children: what
 * answers another question than the last one doesn't, and after OLD their next SYNC asks anew. Under
 * the job's lock.
 */
static __always_inline int olaf_sync_answered(struct olaf_job *job, const struct olaf_round_message *m)
{
	__u32 lowest;

	if (olaf_job_runs(job) || m->generated_ns != job->stamp || olaf_job_missing(job, &lowest))
		return 0;
	if (m->exponent == OLAF_CONTROL_OLD) {
		olaf_job_stamp(job);
		return 0;
	}
	if (m->exponent != OLAF_CONTROL_DONE)
		return 1;
	WRITE_ONCE(job->parent_generation, m->generation);
	WRITE_ONCE(job->pool, m->pool);
	job->next_round = m->round;
	job->next_chunk = m->chunk;
	olaf_job_run(job);
	return 1;
}

#endif /* OLAF_ROUND_AGREE_BPF_H */
