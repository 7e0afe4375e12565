/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CONTROL messages of a job. A child's SYNC is answered in its own frame, or goes on to the parent in
 * it; the parent's answer goes on to the child that asked last. All else is answered in its own frame.
 * Agreeing where to begin moves the job's state:
 *
 *   SYNCING --all children have asked; at a node, the parent has answered--> RUNNING
 *   RUNNING --a child asks anew; the parent's generation is another one--> SYNCING
 *
 * Each way back to SYNCING takes the next generation, so that what is under way becomes void at
 * once. All steps, and all changes of who is a member, are taken under the job's lock.
 */
#ifndef OLAF_ROUND_CONTROL_BPF_H
#define OLAF_ROUND_CONTROL_BPF_H

#include "bpf/age/refusal.bpf.h"
#include "bpf/rounds/frames.bpf.h"
#include "bpf/rounds/jobs.bpf.h"
#include "bpf/rounds/message.bpf.h"
#include "bpf/rounds/run.bpf.h"
#include "bpf/rounds/slots.bpf.h"

/* Rounds: none that is as far back is under way. */
#define OLAF_LONG_AGO (1U << 30)

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
 * The rank is a member from a new round on, or from that of a joining that hasn't begun. Returns
 * enum olaf_control_status.
 */
static __always_inline int olaf_member_joins(struct olaf_job *job, struct olaf_child *child,
					     __u32 rank)
{
	struct olaf_membership *membership = &job->membership;
	__u32 now = olaf_membership_now(job), first = olaf_next_round(job);
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
		olaf_absent_copy(job, now);
		olaf_absent_put(job, !now, rank, 0);
		olaf_release_as(&membership->since, first);
		WRITE_ONCE(membership->joining, ((joining >> 32) + 1) << 32 | first);
	}
	olaf_membership_unsettle(job, 0);
	child->first_round = first;
	return OLAF_CONTROL_DONE;
}

/*
 * The members contribute, from where all begin on. Where a member had missed sums of the generation before, this
 * one begins no later than that (olaf_last_run_mend), and stands for both. Under the job's lock.
 */
static __always_inline void olaf_job_runs_from(struct olaf_job *job)
{
	struct olaf_last_run *last = &job->last_run;

	last->generation = job->generation;
	last->round = job->next_round;
	last->chunk = job->next_chunk;
	last->forgotten = 0;
	if (!last->missed)
		WRITE_ONCE(last->partial, 0);
	olaf_release_as(&job->state, OLAF_JOB_RUNNING);
}

/*
 * The job has no member any more: nobody needs what was before, and who joins is the first. If it waits
 * for members to agree, it needn't, unless it must agree with a parent. Under the job's lock.
 */
static __always_inline void olaf_job_deserted(struct olaf_job *job)
{
	WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) & OLAF_MEMBERS_BEGUN);
	if (!job->setup.parent_family)
		job->session.id = 0;
	if (job->state != OLAF_JOB_SYNCING || job->setup.parent_family)
		return;
	job->next_round = olaf_next_round(job);
	job->next_chunk = 0;
	olaf_job_runs_from(job);
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
	if (status != OLAF_CONTROL_DONE)
		return status;
	child->joined_ns = m->generated_ns;
	if (!job->session.id)
		job->session.id = m->incarnation ? m->incarnation : 1;
	return OLAF_CONTROL_DONE;
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

/* 1 + the first member that is known to have begun anew since all agreed; 0: none. Under the job's lock. */
static __always_inline __u32 olaf_session_replaced(const struct olaf_job *job)
{
	__u32 replaced = job->session.replaced;

	return replaced && !olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], replaced - 1) ?
		       replaced :
		       0;
}

/* The session that the child names, if any. Under the job's lock, before the child counts as having asked. */
static __always_inline void olaf_session_note(struct olaf_job *job, struct olaf_child *child,
					      const struct olaf_round_message *m)
{
	struct olaf_session *session = &job->session;

	if (olaf_ranks_has(&job->asked, m->rank))
		session->incarnations -= child->incarnation;
	if (session->id && !m->session && !olaf_session_replaced(job) && child->incarnation &&
	    child->incarnation != m->incarnation)
		session->replaced = 1 + m->rank;
	child->incarnation = m->incarnation;
	session->incarnations += m->incarnation;
	olaf_ranks_put(&session->in, m->rank, m->session != 0);
	olaf_ranks_put(&session->anew, m->rank, !m->session || (m->flags & OLAF_FLAG_ANEW));
	if (olaf_ranks_has(&session->anew, m->rank) && !session->culprit)
		session->culprit = 1 + m->rank;
	if (!m->session)
		return;
	if (!session->asked)
		session->asked = m->session;
	else if (session->asked != m->session)
		session->differ = 1;
}

/*
 * The session of those who have asked: the one that they name; of a root whose members are all new, the sum
 * of them. Where new members are below other nodes too the parent says it. Under the job's lock.
 */
static __always_inline __u64 olaf_session_asked(const struct olaf_job *job)
{
	__u32 lowest;

	if (olaf_members_in(job, &job->session.in, &lowest))
		return job->session.asked;
	return job->session.incarnations ? job->session.incarnations : 1;
}

/*
 * All members have asked. Can't they go on with each other, as one of them has begun anew? Of a node below
 * its parent says so, unless two sessions were named. Under the job's lock.
 */
static __always_inline int olaf_session_is_over(const struct olaf_job *job)
{
	const struct olaf_session *session = &job->session;
	__u32 lowest;

	if (!olaf_members_in(job, &session->in, &lowest))
		return 0;
	if (session->differ)
		return 1;
	return !job->setup.parent_family && session->incarnations != session->asked &&
	       olaf_members_in(job, &session->anew, &lowest);
}

/*
 * Not all have asked. Is the session of the question at hand over all the same, as a member of it has begun
 * anew, whose earlier incarnation this node knows? Under the job's lock.
 */
static __always_inline int olaf_session_is_lost(struct olaf_job *job, const struct olaf_round_message *m)
{
	struct olaf_session *session = &job->session;
	__u32 replaced = olaf_session_replaced(job);

	if (!replaced || !olaf_ranks_has(&session->in, m->rank) || session->differ || session->asked != session->id)
		return 0;
	session->culprit = replaced;
	session->culprit_above = 0;
	return 1;
}

/* All begin at this chunk at the latest. Under the job's lock. */
static __always_inline void olaf_job_begins_by(struct olaf_job *job, __u32 round, __u32 chunk)
{
	if (!olaf_chunk_is_before(round, chunk, job->next_round, job->next_chunk))
		return;
	job->next_round = round;
	job->next_chunk = chunk;
}

/* May a sum lack a member's part? */
static __always_inline int olaf_job_is_impatient(const struct olaf_job *job)
{
	return job->setup.deadline_ns || job->setup.threshold < job->setup.children ||
	       (job->setup.flags & OLAF_JOB_ANY);
}

/*
 * A member in a session asks. Has it heard of the generation in which the members contributed last? A node
 * that has forgotten where all began in that one can't mend it (olaf_last_run_mend): the session is over.
 * Under the job's lock.
 */
static __always_inline void olaf_last_run_note(struct olaf_job *job, const struct olaf_round_message *m)
{
	struct olaf_last_run *last = &job->last_run;

	if (!m->session)
		return;
	if (!last->generation) {
		last->generation = m->generation;
		last->forgotten = 1;
	}
	if (m->generation == last->generation)
		return;
	last->missed = 1;
	if (last->forgotten && olaf_job_is_impatient(job))
		job->session.differ = 1;
}

/*
 * All have asked. If the others summed without a member that hadn't heard that they had begun, they may have
 * agreed on exponents that it doesn't know: all begin there again. Under the job's lock.
 */
static __always_inline void olaf_last_run_mend(struct olaf_job *job)
{
	const struct olaf_last_run *last = &job->last_run;

	if (last->missed && !last->forgotten && READ_ONCE(last->partial))
		olaf_job_begins_by(job, last->round, last->chunk);
}

/* A child asks for the first time since it or the job stopped. Under the job's lock. */
static __always_inline void olaf_sync_note(struct olaf_job *job, struct olaf_child *child,
					   const struct olaf_round_message *m)
{
	if (olaf_job_runs(job))
		olaf_job_stop(job);
	olaf_session_note(job, child, m);
	if (olaf_ranks_are_none(&job->asked)) {
		job->next_round = m->round;
		job->next_chunk = m->chunk;
	}
	olaf_job_begins_by(job, m->round, m->chunk);
	olaf_last_run_note(job, m);
	if (m->pool < job->pool)
		WRITE_ONCE(job->pool, m->pool);
	olaf_ranks_add(&job->asked, m->rank);
	olaf_job_stamp(job);
}

/*
 * All have agreed where to begin. At the very first chunk nobody had joined: none could before that
 * chunk's round was over for all. Under the job's lock.
 */
static __always_inline void olaf_job_run(struct olaf_job *job, __u64 session)
{
	job->session.id = session;
	job->session.replaced = 0;
	if (!job->next_round && !job->next_chunk)
		WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) & ~OLAF_MEMBERS_FORGOT);
	olaf_job_runs_from(job);
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
		olaf_sync_note(job, child, m);
	}
	job->asker = m->rank;
	if (olaf_job_missing(job, &lowest))
		return olaf_session_is_lost(job, m) ? OLAF_CONTROL_OVER : OLAF_CONTROL_WAIT;
	if (olaf_session_is_over(job))
		return olaf_ranks_has(&job->session.in, m->rank) ? OLAF_CONTROL_OVER :
								   OLAF_CONTROL_WAIT;
	olaf_last_run_mend(job);
	if (job->setup.parent_family)
		return OLAF_CONTROL_WAIT;
	olaf_job_run(job, olaf_session_asked(job));
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
		if (job->stamp < m->session)
			job->stamp = m->session;
		olaf_job_stamp(job);
		return 0;
	}
	if (m->exponent != OLAF_CONTROL_DONE)
		return 1;
	WRITE_ONCE(job->parent_generation, m->generation);
	WRITE_ONCE(job->pool, m->pool);
	job->next_round = m->round;
	job->next_chunk = m->chunk;
	olaf_job_run(job, m->session);
	return 1;
}

/* What follows from a SYNC. */
enum olaf_sync_act {
	OLAF_SYNC_LEAVE = 0, /* nothing */
	OLAF_SYNC_ANSWER = 1, /* the message at hand is the answer now: to the child m->rank */
	OLAF_SYNC_UP = 2, /* it is this node's own question to its parent */
};

/* Does an answer name another rank than the addressee's? */
static __always_inline int olaf_names_other(const struct olaf_round_message *m)
{
	return olaf_counts_members(m) || m->exponent == OLAF_CONTROL_OVER;
}

/* Whom an answer names where the session is over: who must begin anew, or who has. Under the job's lock. */
static __always_inline void olaf_session_say(const struct olaf_job *job, struct olaf_round_message *m)
{
	if (olaf_ranks_has(&job->session.in, m->rank)) {
		m->count = job->session.culprit ? job->session.culprit - 1 : OLAF_EVERY_RANK;
		m->flags = job->session.culprit_above ? OLAF_FLAG_ABOVE : 0;
		return;
	}
	m->flags = OLAF_FLAG_ANEW;
	m->chunks = olaf_members_in(job, &job->session.in, &m->count);
	if (!m->chunks)
		m->count = OLAF_EVERY_RANK;
}

/*
 * The job's part of an answer, or of a question to the parent, takes the message's place. m->chunks is how many
 * haven't asked, m->count the first of them, and m->flags the answer's besides ANSWER; where the session is
 * over, olaf_session_say()'s. m->run stays: the message is of the run that has the job. Under the job's lock.
 */
static __always_inline void olaf_sync_read(const struct olaf_job *job, struct olaf_round_message *m)
{
	m->generation = job->generation;
	m->round = job->next_round;
	m->chunk = job->next_chunk;
	m->pool = job->pool;
	m->chunks = 0;
	m->count = OLAF_NO_RANK;
	m->flags = 0;
	m->session = m->exponent == OLAF_CONTROL_DONE ? job->session.id : 0;
	if (olaf_job_runs(job))
		return;
	m->chunks = olaf_job_missing(job, &m->count);
	if (m->exponent == OLAF_CONTROL_OVER ||
	    (!m->chunks && olaf_names_other(m) && olaf_session_is_over(job)))
		olaf_session_say(job, m);
}

/*
 * This node's own question to its parent takes the message's place. It knows a generation of the parent's if all
 * its members do. Under the job's lock.
 */
static __always_inline void olaf_sync_read_up(const struct olaf_job *job, struct olaf_round_message *m)
{
	__u32 lowest;

	m->generated_ns = job->stamp;
	m->exponent = 0;
	m->generation = job->last_run.missed ? 0 : job->parent_generation;
	m->incarnation = job->session.incarnations;
	m->session = olaf_members_in(job, &job->session.in, &lowest) ? job->session.asked : 0;
	m->flags = olaf_members_in(job, &job->session.anew, &lowest) ? OLAF_FLAG_ANEW : 0;
}

/*
 * Puts so many lanes, at least one, behind the staged message: the message's incarnation, session and run, and
 * zeros.
 * Returns what they add up to for a UDP checksum. A global function: verified once.
 */
__noinline __u64 olaf_sync_lanes(__u32 lanes)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_entry *staged = olaf_staging();
	__u32 i, count = olaf_clamp(lanes, 1, olaf_cfg.max_lanes);
	__u64 sum = 0;

	if (!staged || !m)
		return 0;
	for (i = 0; i < count; i++)
		WRITE_ONCE(staged->lanes[i], 0);
	if (!olaf_control_lanes(m))
		return 0;
	staged->lanes[OLAF_SYNC_INCARNATION] = m->incarnation;
	staged->lanes[OLAF_SYNC_SESSION] = m->session;
	staged->lanes[OLAF_SYNC_TRAINING] = m->run.training;
	staged->lanes[OLAF_SYNC_RUN] = m->run.number;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_SYNC_LANES; i++)
		sum += (staged->lanes[i] & 0xffffffff) + (staged->lanes[i] >> 32);
	return sum;
}

/*
 * The answer becomes the frame, to the child m->rank. It is as long as the question, which may be padded:
 * so its sender learns that frames of that length get here and back. Returns enum olaf_round_act.
 */
__noinline int olaf_sync_answer(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	struct olaf_job *job;
	__u32 padding;
	__u64 sum = 0;

	if (!m || !a || !staged)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	padding = a->update.lanes;
	if (!job || !olaf_answer_way(m, &way))
		return OLAF_ROUND_LEAVE;
	m->incarnation = 0;
	olaf_control_say(&staged->message, job, m, OLAF_FLAG_ANSWER | m->flags,
			 olaf_names_other(m) ? m->count : m->rank);
	staged->message.lanes_be = bpf_htons(padding);
	if (padding)
		sum = olaf_sync_lanes(padding);
	if (olaf_staged_put(ctx, a, staged, staged->lanes, padding, sum, &way) != OLAF_WRITTEN)
		return OLAF_ROUND_LEAVE;
	return OLAF_ROUND_SEND;
}

/* This node asks its parent. Returns enum olaf_round_act. */
__noinline int olaf_sync_up(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_job *job;

	if (!m || !a || !staged)
		return OLAF_ROUND_LEAVE;
	job = olaf_job_at(m->job);
	if (!job)
		return OLAF_ROUND_LEAVE;
	olaf_control_say(&staged->message, job, m, m->flags, job->setup.rank);
	staged->message.lanes_be = bpf_htons(OLAF_SYNC_LANES);
	return olaf_up_put(ctx, a, job, m->job, staged, staged->lanes, OLAF_SYNC_LANES,
			   olaf_sync_lanes(OLAF_SYNC_LANES));
}

/*
 * A child's SYNC at hand, of the run that has the job. Returns enum olaf_sync_act. Its own stack ends before
 * anything is written.
 */
__noinline int olaf_sync_asked(void)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_child *child;
	struct olaf_job *job;
	int up;

	if (!m)
		return OLAF_SYNC_LEAVE;
	job = olaf_job_at(m->job);
	child = olaf_child_at(m->job, m->rank);
	if (!job || !child || !olaf_job_lock(job))
		return OLAF_SYNC_LEAVE;
	if (!olaf_run_is(&job->tenancy.run, &m->run)) {
		olaf_job_unlock(job); /* it lost the job just now: its next question is told so */
		return OLAF_SYNC_LEAVE;
	}
	m->exponent = olaf_sync_judge(job, child, m);
	olaf_sync_read(job, m);
	if (m->exponent == OLAF_CONTROL_OLD)
		m->session = child->stamp;
	up = m->exponent == OLAF_CONTROL_WAIT && !m->chunks;
	if (up)
		olaf_sync_read_up(job, m);
	olaf_job_unlock(job);
	return up ? OLAF_SYNC_UP : OLAF_SYNC_ANSWER;
}

/* SETH. It holds for chunks that aren't complete, too. Under the job's lock. */
static __always_inline int olaf_seth_judge(struct olaf_job *job, const struct olaf_round_message *m)
{
	if (!m->chunks || m->chunks > olaf_most_threshold(&job->setup))
		return OLAF_CONTROL_REFUSED;
	WRITE_ONCE(job->setup.threshold, m->chunks);
	return OLAF_CONTROL_DONE;
}

/* What a member orders. Returns enum olaf_control_status. Under the job's lock. */
static __always_inline int olaf_order_judge(struct olaf_job *job, struct olaf_child *child,
					    const struct olaf_round_message *m, __u64 now)
{
	if (m->action == OLAF_CONTROL_JOIN)
		return olaf_join_judge(job, child, m);
	if (m->action == OLAF_CONTROL_LEAVE)
		return olaf_leave_judge(job, m);
	if (olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], m->rank))
		return OLAF_CONTROL_GONE;
	switch (m->action) {
	case OLAF_CONTROL_SETH:
		return olaf_seth_judge(job, m);
	case OLAF_CONTROL_FBCAST:
		WRITE_ONCE(job->membership.sealed_ns, now);
		break;
	case OLAF_CONTROL_HALT:
		WRITE_ONCE(job->halted, 1);
		break;
	case OLAF_CONTROL_RESUME:
		WRITE_ONCE(job->halted, 0);
		break;
	case OLAF_CONTROL_RESET:
		olaf_job_stop(job);
		break;
	}
	return OLAF_CONTROL_DONE;
}

/*
 * A child's other CONTROL message at hand. It changes something only in the generation that it names, for who
 * knows that is a member: it is random at first, and told to nobody else. Returns enum olaf_sync_act, as
 * olaf_sync_asked().
 */
__noinline int olaf_order_asked(void)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_child *child;
	struct olaf_job *job;

	if (!m || !a)
		return OLAF_SYNC_LEAVE;
	job = olaf_job_at(m->job);
	child = olaf_child_at(m->job, m->rank);
	if (!job || !child || !olaf_job_lock(job))
		return OLAF_SYNC_LEAVE;
	if (m->action == OLAF_CONTROL_JOIN && !olaf_run_is(&job->tenancy.run, &m->run)) {
		olaf_job_unlock(job);
		return OLAF_SYNC_LEAVE;
	}
	if (m->generation != job->generation) {
		olaf_order_is_old(job, m);
		olaf_job_unlock(job);
		return OLAF_SYNC_ANSWER;
	}
	m->exponent = olaf_order_judge(job, child, m, a->now);
	m->generation = job->generation; /* RESET takes the next one */
	m->pool = job->pool;
	if (m->action == OLAF_CONTROL_JOIN) {
		m->round = child->first_round;
		m->chunk = 0;
		m->session = m->exponent == OLAF_CONTROL_DONE ? job->session.id :
			     m->exponent == OLAF_CONTROL_OLD  ? child->joined_ns :
								0;
	}
	olaf_job_unlock(job);
	m->chunks = 0;
	m->count = m->rank;
	m->flags = 0;
	return OLAF_SYNC_ANSWER;
}

/*
 * A child's question or order at hand, or the answer already to a sender that the rank isn't bound to.
 * Returns enum olaf_sync_act.
 */
static __always_inline int olaf_control_asked(struct olaf_round_message *m)
{
	int sync = m->action == OLAF_CONTROL_SYNC, admission = OLAF_ADMISSION_GRANTED;

	if (m->to_source)
		admission = OLAF_ADMISSION_REFUSED;
	else if (olaf_control_lanes(m))
		admission = olaf_run_admit(0);
	if (admission == OLAF_ADMISSION_LATER)
		return OLAF_SYNC_LEAVE;
	if (sync)
		olaf_count_job(m->job, syncs);
	else
		olaf_count_job(m->job, controls);
	if (admission == OLAF_ADMISSION_REFUSED)
		return OLAF_SYNC_ANSWER;
	return sync ? olaf_sync_asked() : olaf_order_asked();
}

/*
 * What the parent's answer says to the child that asked last, *m: WAIT or OVER of the parent's, which names `lowest`
 * and `missing` there. All children of this node have asked. Under the job's lock.
 */
static __always_inline void olaf_sync_pass(struct olaf_job *job, struct olaf_round_message *m, int is_over,
					   __u32 flags, __u32 missing, __u32 lowest)
{
	struct olaf_session *session = &job->session;

	m->exponent = is_over && olaf_ranks_has(&session->in, m->rank) ? OLAF_CONTROL_OVER :
									 OLAF_CONTROL_WAIT;
	if (is_over && !session->culprit) {
		session->culprit = 1 + lowest;
		session->culprit_above = 1;
	}
	if (is_over) {
		olaf_session_say(job, m);
		return;
	}
	m->chunks = missing;
	m->count = lowest;
	m->flags = OLAF_FLAG_ABOVE | (flags & OLAF_FLAG_ANEW);
}

/* The parent's answer at hand. Returns enum olaf_sync_act. */
__noinline int olaf_sync_told(void)
{
	struct olaf_round_message *m = olaf_round_message_here();
	__u32 flags, missing, lowest;
	__u64 kept_ns = m ? m->session : 0;
	int is_news, is_over, is_other;
	struct olaf_child *child;
	struct olaf_job *job;

	if (!m)
		return OLAF_SYNC_LEAVE;
	is_over = m->exponent == OLAF_CONTROL_OVER;
	is_other = m->exponent == OLAF_CONTROL_OTHER;
	missing = olaf_counts_members(m) ? m->chunks : 0;
	lowest = m->rank;
	flags = m->flags;
	job = olaf_job_at(m->job);
	if (!job || !olaf_job_lock(job))
		return OLAF_SYNC_LEAVE;
	is_news = olaf_sync_answered(job, m);
	olaf_sync_read(job, m);
	m->exponent = OLAF_CONTROL_DONE;
	m->rank = job->asker;
	if (is_news && !olaf_job_runs(job))
		olaf_sync_pass(job, m, is_over, flags, missing, lowest);
	if (is_news && is_other) {
		m->exponent = OLAF_CONTROL_OTHER;
		m->session = kept_ns;
	}
	child = olaf_child_at(m->job, m->rank);
	m->generated_ns = child ? child->stamp : 0;
	olaf_job_unlock(job);
	return is_news ? OLAF_SYNC_ANSWER : OLAF_SYNC_LEAVE;
}

/* The CONTROL message at hand, of a child's or the parent's. Returns enum olaf_round_act. */
static __always_inline int olaf_control(struct xdp_md *ctx, const struct olaf_arrival *a,
					struct olaf_round_message *m, const struct olaf_job *job)
{
	int act, answer = m->flags & OLAF_FLAG_ANSWER;

	if (m->action < OLAF_CONTROL_JOIN || m->action > OLAF_CONTROL_RESET) {
		olaf_refuse_malformed(ctx, OLAF_MALFORMED_TYPE, bpf_xdp_get_buff_len(ctx));
		return OLAF_ROUND_LEAVE;
	}
	if (answer && !olaf_is_from_parent((void *)(long)ctx->data, (void *)(long)ctx->data_end, a,
					   job)) {
		olaf_refuse_arrival(ctx, a, OLAF_NOT_ALLOWED_JOB_RESULT, 0);
		return OLAF_ROUND_LEAVE;
	}
	/* A node asks its parent nothing but SYNC: all else answers nothing. */
	if (answer && m->action != OLAF_CONTROL_SYNC)
		return OLAF_ROUND_LEAVE;
	act = answer ? olaf_sync_told() : olaf_control_asked(m);
	if (act == OLAF_SYNC_LEAVE)
		return OLAF_ROUND_LEAVE;
	return act == OLAF_SYNC_UP ? olaf_sync_up(ctx) : olaf_sync_answer(ctx);
}

#endif /* OLAF_ROUND_CONTROL_BPF_H */
