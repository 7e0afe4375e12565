/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Jobs, and their members (docs/rounds.md, "Members"). Maps, all sized by the loader, and empty without
 * --round-slots:
 *
 * olaf_jobs: key index, value struct olaf_job. `setup` is written by olaf_job_order alone, before
 *   the job has an id and `state`; the rest as the struct says.
 * olaf_children: key olaf_child_index(), value struct olaf_child. Writers: XDP, from what arrives,
 *   and olaf_job_order.
 * olaf_job_counters: key index, one copy a CPU. Writers: our programs, each its own CPU's copy.
 *
 * `tenancy` of a job is explained in run.bpf.h.
 *
 * `membership` of a job is written under the job's lock, and read under a slot's. Whoever opens the first
 * chunk of a round says so under the job's lock, before it looks who is in that round. A rank that joins
 * does so from the round behind the newest. So all chunks of a round have the same joiners.
 *
 * A joining makes its set in the place of the one that rounds before the last joining had. Before it
 * writes there it moves that joining so far back that no round uses the place. A reader looks again at
 * which set the round has, and reads the other one if that changed.
 */
#ifndef OLAF_ROUND_JOBS_BPF_H
#define OLAF_ROUND_JOBS_BPF_H

#include "bpf/lock.bpf.h"
#include "olaf/rounds.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* values begin on a page: cache lines are struct olaf_job's */
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct olaf_job);
} olaf_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OLAF_MAX_JOBS * OLAF_RANKS);
	__type(key, __u32);
	__type(value, struct olaf_child);
} olaf_children SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct olaf_job_counters);
} olaf_job_counters SEC(".maps");

static __always_inline struct olaf_job *olaf_job_at(__u32 job_index)
{
	return bpf_map_lookup_elem(&olaf_jobs, &job_index);
}

/* The child's place; NULL: there is no such rank. */
static __always_inline struct olaf_child *olaf_child_at(__u32 job_index, __u32 rank)
{
	__u32 index = olaf_child_index(job_index, rank);

	if (rank >= OLAF_RANKS)
		return NULL;
	return bpf_map_lookup_elem(&olaf_children, &index);
}

static __always_inline struct olaf_job_counters *olaf_job_counters_at(__u32 job_index)
{
	return bpf_map_lookup_elem(&olaf_job_counters, &job_index);
}

/* olaf_count_job(job_index, field): adds one to a counter of this CPU, or `count` to it. */
#define olaf_count_job(job_index, field) olaf_count_job_by(job_index, field, 1)
#define olaf_count_job_by(job_index, field, count)                                     \
	do {                                                                           \
		struct olaf_job_counters *counters_ = olaf_job_counters_at(job_index); \
		if (counters_)                                                         \
			counters_->field += (count);                                   \
	} while (0)

/* So many contributions complete a chunk at most. */
static __always_inline __u32 olaf_most_threshold(const struct olaf_job_setup *setup)
{
	return setup->flags & OLAF_JOB_ANY ? setup->max_count : setup->children;
}

/* Do the job's members contribute? Else they agree where to begin. */
static __always_inline int olaf_job_runs(const struct olaf_job *job)
{
	return READ_ONCE(job->state) == OLAF_JOB_RUNNING;
}

/* The lowest rank of a set that is empty. */
#define OLAF_NO_RANK OLAF_RANKS

/* The word that a rank lies in: where the verifier doesn't know that it is one, the last. */
static __always_inline __u32 olaf_rank_word(__u32 rank)
{
	return olaf_clamp(rank / 64, 0, OLAF_RANK_WORDS - 1);
}

static __always_inline int olaf_ranks_has(const struct olaf_ranks *ranks, __u32 rank)
{
	return ranks->word[olaf_rank_word(rank)] >> (rank & 63) & 1;
}

static __always_inline void olaf_ranks_add(struct olaf_ranks *ranks, __u32 rank)
{
	ranks->word[olaf_rank_word(rank)] |= 1ULL << (rank & 63);
}

static __always_inline void olaf_ranks_put(struct olaf_ranks *ranks, __u32 rank, int in)
{
	__u64 *word = &ranks->word[olaf_rank_word(rank)], bit = 1ULL << (rank & 63);

	*word = in ? *word | bit : *word & ~bit;
}

static __always_inline int olaf_ranks_are_none(const struct olaf_ranks *ranks)
{
	return !ranks->word[0] && !ranks->word[1] && !ranks->word[2] && !ranks->word[3];
}

/* The ranks below `end` of the set's word `i`. */
static __always_inline __u64 olaf_ranks_below(__u32 end, __u32 i)
{
	if (end >= 64 * i + 64)
		return ~0ULL;
	return end > 64 * i ? (1ULL << (end - 64 * i)) - 1 : 0;
}

static __always_inline __u32 olaf_bits(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return word * 0x0101010101010101ULL >> 56;
}

/* Of a word that isn't 0. */
static __always_inline __u32 olaf_lowest_bit(__u64 word)
{
	return olaf_bits((word & -word) - 1);
}

/* Takes the job's lock. Returns 0 if it can't be had, or the job was removed meanwhile. */
static __always_inline int olaf_job_lock(struct olaf_job *job)
{
	if (!olaf_lock(&job->lock))
		return 0;
	if (job->state != OLAF_JOB_NONE)
		return 1;
	olaf_unlock(&job->lock);
	return 0;
}

static __always_inline void olaf_job_unlock(struct olaf_job *job)
{
	olaf_unlock(&job->lock);
}

/* Which of the two sets holds for the round. One read: number and round belong together. */
static __always_inline __u32 olaf_membership_of(const struct olaf_job *job, __u32 round)
{
	__u64 joining = READ_ONCE(job->membership.joining);

	return ((__u32)(joining >> 32) - (olaf_is_before(round, (__u32)joining) ? 1 : 0)) & 1;
}

/* The set that holds for new rounds. */
static __always_inline __u32 olaf_membership_now(const struct olaf_job *job)
{
	return (__u32)(READ_ONCE(job->membership.joining) >> 32) & 1;
}

/* Is the rank out of the round? Nearly always nobody ever was. */
static __always_inline int olaf_is_absent(const struct olaf_job *job, __u32 round, __u32 rank)
{
	return READ_ONCE(job->membership.away) &&
	       olaf_ranks_has(&job->membership.absent[olaf_membership_of(job, round)], rank);
}

/* The members of word `i` in a set. */
static __always_inline __u64 olaf_members_word(const struct olaf_job *job, __u32 set, __u32 i)
{
	return olaf_ranks_below(job->setup.children, i) &
	       ~READ_ONCE(job->membership.absent[set & 1].word[i]);
}

/* How many of the set's ranks are members now; *lowest is the first of them. Under the job's lock. */
static __always_inline __u32 olaf_members_in(const struct olaf_job *job, const struct olaf_ranks *ranks,
					     __u32 *lowest)
{
	__u32 now = olaf_membership_now(job), i, count = 0;
	__u64 word;

	*lowest = OLAF_NO_RANK;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		word = olaf_members_word(job, now, i) & ranks->word[i];
		if (word && !count)
			*lowest = 64 * i + olaf_lowest_bit(word);
		count += olaf_bits(word);
	}
	return count;
}

/* Is there a member that was one before the last joining? */
static __always_inline int olaf_has_elders(const struct olaf_job *job)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++) {
		if (olaf_members_word(job, 0, i) & olaf_members_word(job, 1, i))
			return 1;
	}
	return 0;
}

/*
 * Has the rank joined so lately that it holds no results yet? The others tell by what they contribute
 * which chunks are over, for they hold the results before. It can't, so it opens none, unless all the
 * others have left: then nobody needs those.
 */
static __always_inline int olaf_is_joining(const struct olaf_job *job, __u32 rank)
{
	return READ_ONCE(job->membership.away) &&
	       READ_ONCE(job->membership.unsettled) &&
	       olaf_ranks_has(&job->membership.absent[!olaf_membership_now(job)], rank) &&
	       olaf_has_elders(job);
}

/* What is read behind it isn't older than what was read before. Adding 0 changes nothing. */
static __always_inline void olaf_membership_barrier(const struct olaf_job *job)
{
#ifdef __TARGET_ARCH_x86
	/* Loads stay in order here. */
	(void)job;
	asm volatile("" ::: "memory");
#else
	__sync_fetch_and_add((__u32 *)&job->membership.away, 0);
#endif
}

/* The members of a round. */
static __always_inline void olaf_members_read(const struct olaf_job *job, __u32 round,
					      struct olaf_ranks *members)
{
	__u32 set = olaf_membership_of(job, round), i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		members->word[i] = olaf_members_word(job, set, i);
	olaf_membership_barrier(job);
	if (olaf_membership_of(job, round) == set)
		return;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		members->word[i] = olaf_members_word(job, !set, i);
}

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

/* Does the buffer lack a member of its round? */
static __always_inline int olaf_round_lacks(const struct olaf_job *job,
					    const struct olaf_round_buffer *buffer)
{
	struct olaf_ranks members;

	olaf_members_read(job, buffer->round, &members);
	return members.word[0] & ~buffer->in.word[0] || members.word[1] & ~buffer->in.word[1] ||
	       members.word[2] & ~buffer->in.word[2] || members.word[3] & ~buffer->in.word[3];
}

/* The buffer is gathered anew: does it lack a child of the first aggregate that is still a member? */
static __always_inline int olaf_round_lacks_again(const struct olaf_job *job,
						  const struct olaf_round_buffer *buffer)
{
	struct olaf_ranks members;

	olaf_members_read(job, buffer->round, &members);
	return members.word[0] & buffer->given.word[0] & ~buffer->in.word[0] ||
	       members.word[1] & buffer->given.word[1] & ~buffer->in.word[1] ||
	       members.word[2] & buffer->given.word[2] & ~buffer->in.word[2] ||
	       members.word[3] & buffer->given.word[3] & ~buffer->in.word[3];
}

/*
 * So many chunks must be opened again until nobody needs what was before. Who opens the last of 2 P holds
 * the result of the P-th, so all members have sent that one, at other nodes too; and whoever has sent it
 * holds every result from before the first. Behind P only the opener does: another member may lack some,
 * and all begin there if they must agree anew. Under the job's lock.
 */
static __always_inline void olaf_membership_unsettle(struct olaf_job *job, __u32 flags)
{
	WRITE_ONCE(job->membership.unsettled, 2 * job->setup.slots);
	WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) | flags);
}

/*
 * All begin anew, so what was opened since a change is opened again. If somebody has left, rounds that
 * have its part may be summed again without it: others who hold them must be able to tell. Under the
 * job's lock.
 */
static __always_inline void olaf_membership_stopped(struct olaf_job *job)
{
	if (!job->membership.unsettled)
		return;
	olaf_membership_unsettle(job, job->membership.flags & OLAF_MEMBERS_LEFT ?
					      OLAF_MEMBERS_DOUBTFUL :
					      0);
}

/* The set that doesn't hold for new rounds becomes the same as that which does. Under the job's lock. */
static __always_inline void olaf_absent_copy(struct olaf_job *job, __u32 set)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_RANK_WORDS; i++)
		WRITE_ONCE(job->membership.absent[!set].word[i],
			   job->membership.absent[set & 1].word[i]);
}

static __always_inline void olaf_absent_put(struct olaf_job *job, __u32 set, __u32 rank, int absent)
{
	__u64 *word = &job->membership.absent[set & 1].word[olaf_rank_word(rank)];
	__u64 bit = 1ULL << (rank & 63);

	WRITE_ONCE(*word, absent ? *word | bit : *word & ~bit);
}

/*
 * Nothing waits for the rank any more. Rounds before `since` may have its part. Who sees that it is gone
 * sees what the sums without it are, too.
 */
static __always_inline void olaf_member_leaves(struct olaf_job *job, __u32 rank, __u32 since,
					       __u32 flags)
{
	struct olaf_membership *membership = &job->membership;

	if (!membership->unsettled || olaf_is_before(membership->since, since))
		membership->since = since;
	olaf_membership_unsettle(job, flags);
	olaf_release_as(&membership->away, 1);
	olaf_absent_put(job, 0, rank, 1);
	olaf_absent_put(job, 1, rank, 1);
}

/* Nobody has asked yet where to begin. Under the job's lock. */
static __always_inline void olaf_asked_clear(struct olaf_job *job)
{
	job->asked = (struct olaf_ranks){};
	job->session.incarnations = 0;
	job->session.asked = 0;
	job->session.differ = 0;
	job->session.culprit = 0;
	job->session.culprit_above = 0;
	job->session.in = (struct olaf_ranks){};
	job->session.anew = (struct olaf_ranks){};
	job->last_run.missed = 0;
	WRITE_ONCE(job->pool, job->setup.pool);
}

/* The first round that nobody has contributed to. */
static __always_inline __u32 olaf_next_round(const struct olaf_job *job)
{
	return job->membership.newest_round + 1;
}

/*
 * A chunk of the round was opened. When the 2 P-th one since a change is, every member holds all results
 * from before it, so those are over, and both sets may be one again. Under the job's lock.
 */
static __always_inline void olaf_membership_opened(struct olaf_job *job, __u32 round)
{
	__u32 set = olaf_membership_now(job);

	if (!(job->membership.flags & OLAF_MEMBERS_BEGUN) ||
	    olaf_is_before(job->membership.newest_round, round))
		WRITE_ONCE(job->membership.newest_round, round);
	WRITE_ONCE(job->membership.flags, READ_ONCE(job->membership.flags) | OLAF_MEMBERS_BEGUN);
	if (!job->membership.unsettled || (!(job->membership.flags & OLAF_MEMBERS_YOUNG) &&
				       olaf_is_before(round, job->membership.since)))
		return;
	if (job->membership.unsettled == 1) {
		olaf_absent_copy(job, set);
		WRITE_ONCE(job->membership.flags, OLAF_MEMBERS_BEGUN);
	}
	WRITE_ONCE(job->membership.unsettled, READ_ONCE(job->membership.unsettled) - 1);
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
	olaf_asked_clear(job);
	olaf_membership_stopped(job);
}

/* Nobody has the job from now on. Under its lock. */
static __always_inline void olaf_run_end(struct olaf_job *job)
{
	job->tenancy.run = (struct olaf_run){};
	job->tenancy.in = (struct olaf_ranks){};
}

#endif /* OLAF_ROUND_JOBS_BPF_H */
