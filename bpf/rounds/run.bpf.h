/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which run has a job (docs/rounds.md, "Runs").
 *
 * olaf_job::tenancy is written under the job's lock: by the SYNC or JOIN of a run that takes the job, by a
 * farewell that is complete (olaf_run_farewell() in deliveries.bpf.h), and by olaf_job_order. Nothing of a
 * run is judged without the lock, but for who of another training was heard lately. That takes a look at
 * all ranks, so it is done before, and counts only if the job is still that training's.
 */
#ifndef OLAF_ROUND_RUN_BPF_H
#define OLAF_ROUND_RUN_BPF_H

#include "bpf/rounds/jobs.bpf.h"
#include "bpf/rounds/message.bpf.h"

/* A look for members of the run that has the job. */
struct olaf_run_look {
	__u64 now;
	__u64 newest_ns; /* when the last one of them was heard */
	__u32 job; /* index */
	__u32 here; /* how many were heard within the member timeout */
	__u32 lowest; /* the first of those */
	__u32 pad;
};

static long olaf_run_look_at(__u32 rank, struct olaf_run_look *look)
{
	struct olaf_child *child = olaf_child_at(look->job, rank);
	struct olaf_job *job = olaf_job_at(look->job);
	__u64 seen_ns;

	if (!job || !child || rank >= job->setup.children)
		return 1;
	if (!olaf_ranks_has(&job->tenancy.in, rank) ||
	    olaf_ranks_has(&job->membership.absent[olaf_membership_now(job) & 1], rank) ||
	    olaf_member_is_silent(&child->member, look->now, olaf_cfg.member_timeout_ns))
		return 0;
	seen_ns = READ_ONCE(child->member.last_seen_ns);
	if (!look->here)
		look->lowest = rank;
	if (look->newest_ns < seen_ns)
		look->newest_ns = seen_ns;
	look->here++;
	return 0;
}

static __always_inline int olaf_run_is(const struct olaf_run *one, const struct olaf_run *other)
{
	return one->training == other->training && one->number == other->number;
}

/* The members are those that `olaf job set` named, as if it were set now. Under the job's lock. */
static __always_inline void olaf_membership_renew(struct olaf_job *job)
{
	struct olaf_membership *membership = &job->membership;
	int away = !olaf_ranks_are_none(&job->tenancy.absent);
	__u32 i;

	WRITE_ONCE(membership->newest_round, 0);
	WRITE_ONCE(membership->flags, 0);
	olaf_membership_unsettle(job, OLAF_MEMBERS_YOUNG | (away ? OLAF_MEMBERS_FORGOT : 0));
	if (away)
		olaf_release_as(&membership->away, 1);
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		WRITE_ONCE(membership->absent[0].word[i], job->tenancy.absent.word[i]);
		WRITE_ONCE(membership->absent[1].word[i], job->tenancy.absent.word[i]);
	}
}

/*
 * The run has the job from now on. What an earlier one has under way is void, and its members are none.
 * Under the job's lock.
 */
static __always_inline void olaf_run_take(struct olaf_job *job, const struct olaf_run *run)
{
	if (job->tenancy.flags & OLAF_TENANCY_USED) {
		if (olaf_job_runs(job))
			olaf_job_stop(job);
		olaf_asked_clear(job);
		olaf_membership_renew(job);
		job->session.id = 0;
	}
	job->tenancy.in = (struct olaf_ranks){};
	job->tenancy.run = *run;
	job->tenancy.flags |= OLAF_TENANCY_USED;
}

/* The message at hand becomes the answer OTHER to its sender, who is told no generation. */
static __always_inline void olaf_run_tell(const struct olaf_job *job, struct olaf_round_message *m,
					  const struct olaf_run *told, const struct olaf_run_look *look)
{
	__u64 free_ns = look->newest_ns + olaf_cfg.member_timeout_ns;

	m->exponent = OLAF_CONTROL_OTHER;
	m->run = *told;
	m->flags = 0;
	m->generation = 0;
	m->pool = READ_ONCE(job->pool);
	m->chunks = look->here;
	m->count = look->here ? look->lowest : OLAF_EVERY_RANK;
	m->session = look->here && free_ns > look->now ? free_ns - look->now : 0;
}

/* Is the message at hand an order, JOIN among them? Those name the job's generation. */
static __always_inline int olaf_is_order(const struct olaf_round_message *m)
{
	return m->type == OLAF_CONTROL && m->action != OLAF_CONTROL_SYNC;
}

/* The order at hand names another generation: it becomes the answer OLD, with the right one. */
static __always_inline void olaf_order_is_old(const struct olaf_job *job, struct olaf_round_message *m)
{
	m->exponent = OLAF_CONTROL_OLD;
	m->flags = 0;
	m->generation = READ_ONCE(job->generation);
	m->pool = READ_ONCE(job->pool);
	m->chunks = 0;
	m->count = m->rank;
	m->session = 0;
}

enum olaf_admission {
	OLAF_ADMISSION_REFUSED = 0, /* the message at hand is the answer now */
	OLAF_ADMISSION_LATER = 1, /* another CPU gives the job away just now: the sender asks again */
	OLAF_ADMISSION_TAKEN = 2, /* the rank has asked in this run, from elsewhere */
	OLAF_ADMISSION_GRANTED = 3,
};

/*
 * The run of the SYNC or JOIN at hand may have the job that `has` had when it was judged. Returns enum
 * olaf_admission. Under the job's lock.
 */
static __always_inline int olaf_run_grant(struct olaf_job *job, struct olaf_round_message *m,
					  const struct olaf_run *has, enum olaf_run_verdict verdict,
					  int elsewhere)
{
	if (!olaf_run_is(&job->tenancy.run, has))
		return OLAF_ADMISSION_LATER;
	if (elsewhere && verdict == OLAF_RUN_SAME && olaf_ranks_has(&job->tenancy.in, m->rank))
		return OLAF_ADMISSION_TAKEN;
	if (olaf_is_order(m) && m->generation != job->generation) {
		olaf_order_is_old(job, m);
		return OLAF_ADMISSION_REFUSED;
	}
	if (verdict != OLAF_RUN_SAME)
		olaf_run_take(job, &m->run);
	olaf_ranks_add(&job->tenancy.in, m->rank);
	return OLAF_ADMISSION_GRANTED;
}

/*
 * The SYNC or JOIN at hand is of a run: may that have the job? If so it has it from now on, and the rank is
 * one that has asked in it. `elsewhere`: its sender isn't where the rank is. A JOIN must name the generation
 * that it begins in: else nothing changes, and where it came from is told. Whoever writes another source into
 * a frame never hears that. Returns enum olaf_admission. A global function: its stack ends before anything
 * is written.
 */
__noinline int olaf_run_admit(int elsewhere)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_run_look look = {};
	enum olaf_run_verdict verdict;
	struct olaf_run has;
	struct olaf_job *job;
	int admission;

	if (!m || !a)
		return OLAF_ADMISSION_LATER;
	job = olaf_job_at(m->job);
	if (!job || !olaf_job_lock(job))
		return OLAF_ADMISSION_LATER;
	has = job->tenancy.run;
	olaf_job_unlock(job);
	verdict = olaf_run_judge(&has, &job->setup.run, &m->run);
	look.job = m->job;
	look.now = a->now;
	if (verdict == OLAF_RUN_OTHER || verdict == OLAF_RUN_OLDER)
		bpf_loop(OLAF_RANKS, olaf_run_look_at, &look, 0);
	if (verdict == OLAF_RUN_BARRED || verdict == OLAF_RUN_OLDER || look.here) {
		has = olaf_run_told(verdict, &has, &job->setup.run, &m->run);
		olaf_run_tell(job, m, &has, &look);
		return OLAF_ADMISSION_REFUSED;
	}
	if (!olaf_job_lock(job))
		return OLAF_ADMISSION_LATER;
	admission = olaf_run_grant(job, m, &has, verdict, elsewhere);
	olaf_job_unlock(job);
	return admission;
}

#endif /* OLAF_ROUND_RUN_BPF_H */
