/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of docs/rounds.md: a contribution meets the buffers of its slot. One critical section, its
 * slot's. What the frame at hand does next is enum olaf_round_act.
 *
 * A contribution that is added may complete its buffer: at the root the buffer is then the result,
 * elsewhere it goes up. What comes down is down.bpf.h's.
 *
 * How lanes are added is the program's: integers as below, unless it has included floats.bpf.h before this.
 * olaf_round_first(): the frame's lanes are the buffer's first. olaf_round_add(): they are added to the
 * buffer's. olaf_round_close(): nothing more is added, and the buffer's lanes become those of a frame.
 */
#ifndef OLAF_ROUND_TABLE_BPF_H
#define OLAF_ROUND_TABLE_BPF_H

#include "bpf/age/refusal.bpf.h"
#include "bpf/packet/add.bpf.h"
#include "bpf/rounds/deliveries.bpf.h"
#include "bpf/rounds/frames.bpf.h"
#include "bpf/rounds/jobs.bpf.h"

#ifndef OLAF_ROUND_FLOATS_BPF_H

/* Adds lanes that aren't all in the linear part of the frame. */
__noinline int olaf_round_add_staged(struct xdp_md *ctx, __u32 buffer_index)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_arrival *a = olaf_arrival_here();

	return lanes && a ? olaf_add_staged(ctx, a, lanes) : -1;
}

/* Adds the frame's lanes to the buffer's. Returns 0, or -1: they can't be read. */
__noinline int olaf_round_add(struct xdp_md *ctx, __u32 buffer_index)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_arrival *a = olaf_arrival_here();
	void *end = (void *)(long)ctx->data_end;
	const void *from;
	__u32 count;

	if (!lanes || !a)
		return -1;
	count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	from = olaf_frame_lanes(ctx, olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS,
						OLAF_MAX_HEADERS));
	if (!olaf_are_linear(from, end, count))
		return olaf_round_add_staged(ctx, buffer_index);
	olaf_lanes_add_frame(lanes, from, end, count);
	return 0;
}

/* The frame's lanes are the buffer's first. Returns 0, or -1: they can't be read. */
static __always_inline int olaf_round_first(struct xdp_md *ctx, const struct olaf_arrival *a,
					    __u32 buffer_index)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	__u32 count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);

	return lanes && !bpf_xdp_load_bytes(ctx,
					    olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS,
						       OLAF_MAX_HEADERS) +
						    sizeof(struct olaf_header),
					    lanes, 8 * count) ?
		       0 :
		       -1;
}

/* Sums of integers are as they lie in a frame. */
static __always_inline void olaf_round_close(const struct olaf_job *job, __u32 buffer_index)
{
	(void)job;
	(void)buffer_index;
}

#endif /* OLAF_ROUND_FLOATS_BPF_H */

/* A message, its job, and the slot and the buffer that it meets. */
struct olaf_meeting {
	struct olaf_arrival *a;
	struct olaf_round_message *m;
	struct olaf_job *job;
	struct olaf_round_slot *slot;
	struct olaf_round_buffer *buffer; /* of its round and chunk, or that it opens */
	__u32 slot_index;
	__u32 buffer_index; /* number of the buffer, as lines name it */
};

/* The message meets this buffer of its slot. */
static __always_inline void olaf_meets(struct olaf_meeting *t, __u32 which)
{
	t->buffer = &t->slot->buffer[which & 1];
	t->buffer_index = OLAF_ROUND_BUFFERS * t->slot_index + (which & 1);
}

/* The contribution is received, and this is what became of it (struct olaf_job_counters). */
#define olaf_count_met(t, outcome) olaf_count_as(t, 0, outcome)
/* The same of a contribution that is refused; without lanes it is a probe. */
#define olaf_count_refused(t, outcome) olaf_count_as(t, !(t)->a->update.lanes, outcome)
#define olaf_count_as(t, is_probe, outcome)                                              \
	do {                                                                             \
		struct olaf_job_counters *counters_ = olaf_job_counters_at((t)->m->job); \
		if (counters_ && (is_probe)) {                                           \
			counters_->probes++;                                             \
		} else if (counters_) {                                                  \
			counters_->received++;                                           \
			counters_->outcome++;                                            \
		}                                                                        \
	} while (0)

/* Silent members are looked for this often at most. */
#define OLAF_JUDGE_NS 50000000LL

/* A look for silent members: those that a buffer lacks. */
struct olaf_judging {
	__u32 job_index;
	__u32 buffer_index;
	__u64 now;
};

/* One rank. Silent is who sent nothing since chunks were first completed without it. */
static long olaf_judge_child(__u32 rank, struct olaf_judging *judging)
{
	const struct olaf_round_buffer *buffer = olaf_round_buffer_at(judging->buffer_index);
	struct olaf_child *child = olaf_child_at(judging->job_index, rank);
	struct olaf_job *job = olaf_job_at(judging->job_index);

	if (!buffer || !child || !job || rank >= job->setup.children)
		return 1;
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
	olaf_count_job(judging->job_index, silent);
	return 0;
}

/*
 * The buffer is completed without members. Who is silent for long is none any more. A global function:
 * rare, and verified once. Under the slot's lock.
 */
__noinline int olaf_members_judge(__u32 job_index, __u32 buffer_index, __u64 now)
{
	struct olaf_judging judging = { .job_index = job_index, .buffer_index = buffer_index, .now = now };
	struct olaf_job *job = olaf_job_at(job_index);

	if (!job || !olaf_job_lock(job))
		return 0;
	WRITE_ONCE(job->membership.judged_ns, now);
	bpf_loop(OLAF_RANKS, olaf_judge_child, &judging, 0);
	olaf_job_unlock(job);
	return 0;
}

static __always_inline int olaf_members_are_judged(const struct olaf_job *job, __u64 now)
{
	/* Signed: `now` may be a moment before, on another CPU's clock. */
	return (__s64)(now - READ_ONCE(job->membership.judged_ns)) < OLAF_JUDGE_NS;
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
	olaf_job_unlock(job);
	return 0;
}

/* Must that be told? Nearly always the round has begun, and nothing has changed for long. */
static __always_inline int olaf_round_is_told(const struct olaf_job *job, __u32 round)
{
	return !READ_ONCE(job->membership.unsettled) &&
	       !olaf_is_before(READ_ONCE(job->membership.newest_round), round);
}

/*
 * Is the contribution's vector that of whoever opened the buffer? What comes from a node below may say that
 * two of that node's members differ.
 */
static __always_inline int olaf_vector_is_same(const struct olaf_round_buffer *buffer,
					       const struct olaf_round_message *m)
{
	return buffer->vector == m->vector && buffer->chunks == m->chunks &&
	       !(m->flags & OLAF_FLAG_MISFIT);
}

/*
 * The message at hand says which two vectors differ: no member can go on in this generation. A global
 * function: rare, and verified once. Under the slot's lock.
 */
__noinline int olaf_misfit_note(__u32 job_index, __u32 generation)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_job *job = olaf_job_at(job_index);

	if (!m || !job || !olaf_job_lock(job))
		return 0;
	if (job->generation == generation && job->misfit_generation != generation) {
		job->misfit.one = olaf_vector_identity(m->chunks, m->vector);
		job->misfit.other = m->generated_ns;
		job->misfit.round = m->round;
		job->misfit.chunk = m->chunk;
		WRITE_ONCE(job->misfit_generation, generation);
	}
	olaf_job_unlock(job);
	return 0;
}

/* Which vectors differ takes the place of what the message at hand said. A global function, as above. */
__noinline int olaf_misfit_read(__u32 job_index)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_job *job = olaf_job_at(job_index);

	if (!m || !job || !olaf_job_lock(job))
		return 0;
	m->chunks = job->misfit.one >> 32;
	m->vector = job->misfit.one;
	m->action = m->vector << 16 | 1; /* a count of one, beside the content */
	m->generated_ns = job->misfit.other;
	m->round = job->misfit.round;
	m->chunk = job->misfit.chunk;
	olaf_job_unlock(job);
	return 0;
}

/*
 * Two members' vectors differ, so there is no sum. The buffer is the answer to all of them, which names both
 * vectors, and leaves at once. Below another node the parent has to know before any member is told: a member
 * that has failed sends nothing again, and so nothing goes up again. A global function, as above. Under the
 * slot's lock.
 */
__noinline int olaf_round_misfit(__u32 job_index, __u32 buffer_index)
{
	struct olaf_round_buffer *buffer = olaf_round_buffer_at(buffer_index);
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_job *job = olaf_job_at(job_index);

	if (!buffer || !m || !job)
		return 0;
	if (m->flags & OLAF_FLAG_MISFIT) { /* those of a node below */
		buffer->chunks = m->chunks;
		buffer->vector = m->vector;
		buffer->generated_ns = m->generated_ns;
	} else {
		buffer->generated_ns = olaf_vector_identity(m->chunks, m->vector);
		m->chunks = buffer->chunks;
		m->vector = buffer->vector;
		m->generated_ns = buffer->generated_ns;
	}
	buffer->flags |= OLAF_FLAG_MISFIT;
	if (!buffer->count)
		buffer->count = 1;
	m->flags |= OLAF_FLAG_FLUSH;
	olaf_count_job(job_index, misfit);
	if (!job->setup.parent_family)
		olaf_misfit_note(job_index, buffer->generation);
	return 0;
}

/* CPUs that may note contributions of one child at once, and more. */
#define OLAF_NEWEST_LOOKS 16

/* Is something missing in the buffer? */
static __always_inline int olaf_round_is_partial(struct olaf_job *job,
						 const struct olaf_round_buffer *buffer)
{
	if (job->setup.flags & OLAF_JOB_ANY)
		return buffer->added < job->setup.threshold;
	return buffer->added < job->setup.children &&
	       (olaf_round_lacks(job, buffer) ||
		READ_ONCE(job->membership.flags) &
			(OLAF_MEMBERS_DOUBTFUL | OLAF_MEMBERS_FORGOT));
}

/* Did it not wait for a member? */
static __always_inline int olaf_round_is_impatient(struct olaf_job *job,
						   const struct olaf_round_buffer *buffer)
{
	if (job->setup.flags & OLAF_JOB_ANY)
		return !(buffer->flags & OLAF_FLAG_MISFIT);
	return buffer->flags & OLAF_FLAG_PARTIAL && !(buffer->flags & OLAF_FLAG_MISFIT) &&
	       buffer->added < job->setup.children && olaf_round_lacks(job, buffer);
}

/* Has the buffer all that it waits for? It waits for no member that has left, or has abstained. */
static __always_inline int olaf_round_is_enough(struct olaf_job *job,
						const struct olaf_round_buffer *buffer)
{
	if (buffer->flags & OLAF_FLAG_MISFIT)
		return 1;
	if (buffer->anew)
		return !olaf_round_lacks_again(job, buffer);
	if (buffer->added >= READ_ONCE(job->setup.threshold))
		return 1;
	return (READ_ONCE(job->membership.away) || buffer->flags & OLAF_FLAG_PARTIAL) &&
	       !(job->setup.flags & OLAF_JOB_ANY) && !olaf_round_lacks(job, buffer);
}

/*
 * ANY: when the child's newest contribution was made. Its chunks may be added on several CPUs: who
 * comes second looks again, else a repetition of the newest one would pass for another.
 */
static __always_inline void olaf_newest_note(const struct olaf_meeting *t)
{
	struct olaf_child *child = olaf_child_at(t->m->job, t->m->rank);
	__u64 seen, i;

	for (i = 0; child && i < OLAF_NEWEST_LOOKS; i++) {
		seen = READ_ONCE(child->newest_ns);
		if (t->m->generated_ns <= seen ||
		    __sync_val_compare_and_swap(&child->newest_ns, seen, t->m->generated_ns) == seen)
			return;
	}
}

/* Nothing more is added to the buffer. Under the slot's lock. */
static __always_inline int olaf_round_complete(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	struct olaf_round_buffer *buffer = t->buffer;

	if (!(buffer->flags & OLAF_FLAG_MISFIT) && olaf_round_is_partial(t->job, buffer)) {
		buffer->flags |= OLAF_FLAG_PARTIAL;
		if (!(t->job->setup.flags & OLAF_JOB_ANY) &&
		    !olaf_members_are_judged(t->job, t->a->now))
			olaf_members_judge(t->m->job, t->buffer_index, t->a->now);
	}
	if (olaf_round_is_impatient(t->job, buffer))
		WRITE_ONCE(t->job->last_run.partial, 1);
	olaf_round_close(t->job, t->buffer_index);
	if (!t->job->setup.parent_family) {
		olaf_round_done(t->job, t->m->job, buffer, t->buffer_index);
		return OLAF_ROUND_RIDE;
	}
	buffer->state = OLAF_ROUND_UP;
	buffer->first_up_ns = t->a->now;
	if (!buffer->anew)
		buffer->given = buffer->in;
	buffer->went_up = 1;
	buffer->up_ns = t->a->now;
	olaf_count_job(t->m->job, up_sent);
	return olaf_up_write(ctx, t->buffer_index);
}

/* The contribution is in. `is_one_vector`: it is of the buffer's vector. Under the slot's lock. */
static __always_inline int olaf_round_added(struct xdp_md *ctx, const struct olaf_meeting *t,
					    __u32 is_one_vector)
{
	struct olaf_round_buffer *buffer = t->buffer;

	olaf_count_met(t, added);
	olaf_ranks_add(&buffer->in, t->m->rank);
	buffer->added++;
	buffer->flags |= t->m->flags & (OLAF_FLAG_PARTIAL | OLAF_FLAG_SPOILT);
	if (!is_one_vector) {
		olaf_round_misfit(t->m->job, t->buffer_index);
	} else {
		if (t->job->setup.flags & OLAF_JOB_ANY)
			olaf_newest_note(t);
		buffer->count += t->m->count;
		if (buffer->exponent < t->m->exponent)
			buffer->exponent = t->m->exponent;
		if (buffer->generated_ns < t->m->generated_ns)
			buffer->generated_ns = t->m->generated_ns;
	}
	if (!olaf_round_is_enough(t->job, buffer))
		return OLAF_ROUND_RIDE;
	return olaf_round_complete(ctx, t);
}

/* More contributions than the job may sum: elements could overflow. */
static __always_inline int olaf_round_overflows(struct xdp_md *ctx)
{
	olaf_refuse_malformed(ctx, OLAF_MALFORMED_COUNT, bpf_xdp_get_buff_len(ctx));
	return OLAF_ROUND_LEAVE;
}

/*
 * A FREE buffer is for this chunk now. It may have had the chunk before (olaf_round_recheck), and an aggregate may
 * have gone up. Then it takes the same contributions again, and no other: whichever aggregate the parent's sum has,
 * the same children are in it. Under the slot's lock.
 */
static __always_inline void olaf_round_assign(struct olaf_round_buffer *buffer,
					      const struct olaf_round_message *m, __u32 generation)
{
	if (buffer->generation != generation || buffer->round != m->round || buffer->chunk != m->chunk)
		buffer->went_up = 0;
	buffer->anew = buffer->went_up;
	buffer->generation = generation;
	buffer->round = m->round;
	buffer->chunk = m->chunk;
	buffer->added = 0;
	buffer->flags = 0;
	buffer->in = (struct olaf_ranks){};
}

/* The contribution opens a buffer. Under the slot's lock. */
static __always_inline int olaf_round_open(struct xdp_md *ctx, const struct olaf_meeting *t,
					   __u32 generation)
{
	struct olaf_round_buffer *buffer = t->buffer;

	if (t->m->count > t->job->setup.max_count)
		return olaf_round_overflows(ctx);
	olaf_round_free(buffer, t->m->job);
	if (olaf_round_first(ctx, t->a, t->buffer_index))
		return OLAF_ROUND_LEAVE;
	if (!olaf_round_is_told(t->job, t->m->round) && olaf_round_begins(t->m->job, t->m->round)) {
		olaf_count_met(t, ahead);
		return OLAF_ROUND_RIDE;
	}
	olaf_round_assign(buffer, t->m, generation);
	buffer->chunks = t->m->chunks;
	buffer->vector = t->m->vector;
	buffer->count = 0;
	buffer->exponent = t->m->exponent;
	buffer->generated_ns = 0;
	buffer->opened_ns = t->a->now;
	if (t->job->setup.parent_family) /* else a cache line is left alone */
		buffer->up_ns = t->a->now;
	WRITE_ONCE(buffer->state, OLAF_ROUND_OPEN);
	return olaf_round_added(ctx, t, !(t->m->flags & OLAF_FLAG_MISFIT));
}

/*
 * A result is overdue once that of an aggregate that went up later has come, and after this many times the
 * usual time, between these bounds.
 */
#define OLAF_OVERDUE_TIMES 2
#define OLAF_OVERDUE_LEAST_NS 200000ULL
#define OLAF_OVERDUE_MOST_NS 200000000ULL

/* The contribution's sender is told why it isn't added: olaf_refusal_write(). Under the slot's lock. */
static __always_inline int olaf_answer_refusal(struct xdp_md *ctx, __u32 flag)
{
	return olaf_refusal_write(ctx, flag) == OLAF_WRITTEN ? OLAF_ROUND_SEND : OLAF_ROUND_LEAVE;
}

static __always_inline int olaf_answer_stale(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	t->m->action = t->m->generation;
	t->m->vector = 0;
	return olaf_answer_refusal(ctx, OLAF_FLAG_STALE);
}

/*
 * Has the rank contributed to the buffer as often as it may? With ANY that is again and again, while
 * it is OPEN; a repetition is then no newer than the newest of the child's.
 */
static __always_inline int olaf_round_is_in(const struct olaf_meeting *t,
					    const struct olaf_round_buffer *buffer)
{
	struct olaf_child *child;

	if (!olaf_ranks_has(&buffer->in, t->m->rank))
		return 0;
	if (!(t->job->setup.flags & OLAF_JOB_ANY) || buffer->state != OLAF_ROUND_OPEN)
		return 1;
	if (t->m->flags & OLAF_FLAG_MISFIT) /* it has no time */
		return 0;
	child = olaf_child_at(t->m->job, t->m->rank);
	return !child || t->m->generated_ns <= READ_ONCE(child->newest_ns);
}

/*
 * A member waits for a chunk that gathers here. If that takes long, the parent may have gone on without this node,
 * and its result may have been lost: it is asked. Under the slot's lock.
 */
static __always_inline int olaf_round_ask(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	if (!t->job->setup.parent_family || t->a->now < t->buffer->up_ns + OLAF_OVERDUE_MOST_NS)
		return OLAF_ROUND_RIDE;
	t->buffer->up_ns = t->a->now;
	return olaf_up_ask(ctx, t->buffer->generation);
}

/* Is the buffer gathered anew without the child? Its contribution wasn't in what went up before. */
static __always_inline int olaf_round_excludes(const struct olaf_meeting *t)
{
	return t->buffer->anew && !olaf_ranks_has(&t->buffer->given, t->m->rank);
}

/*
 * Does the probe say that the child has nothing to give to this chunk? Then the chunk need not wait for it.
 * With ANY a chunk waits for no certain child. Under the slot's lock.
 */
static __always_inline int olaf_round_abstains(const struct olaf_meeting *t)
{
	return t->buffer->state == OLAF_ROUND_OPEN && t->m->flags & OLAF_FLAG_PARTIAL &&
	       !(t->job->setup.flags & OLAF_JOB_ANY) && !olaf_ranks_has(&t->buffer->in, t->m->rank) &&
	       !olaf_round_excludes(t);
}

/* A contribution, or a probe by which a child abstains, meets an OPEN buffer. Under the slot's lock. */
static __always_inline int olaf_meet_open(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	struct olaf_round_buffer *buffer = t->buffer;
	__u32 is_one_vector = olaf_vector_is_same(buffer, t->m);

	if (olaf_round_excludes(t)) {
		olaf_count_met(t, late);
		return olaf_round_ask(ctx, t);
	}
	if (!t->a->update.lanes) {
		olaf_ranks_add(&buffer->in, t->m->rank);
		buffer->flags |= OLAF_FLAG_PARTIAL;
	} else if (!olaf_round_is_in(t, buffer)) {
		/* Never more than there is room for: no sum that could wrap. */
		if (is_one_vector && t->m->count > t->job->setup.max_count - buffer->count)
			return olaf_round_overflows(ctx);
		if (is_one_vector && olaf_round_add(ctx, t->buffer_index))
			return OLAF_ROUND_LEAVE;
		return olaf_round_added(ctx, t, is_one_vector);
	}
	olaf_count_refused(t, duplicate);
	if (olaf_round_is_enough(t->job, buffer) ||
	    (!buffer->anew &&
	     (buffer->opened_ns == OLAF_ROUND_OVERDUE ||
	      buffer->opened_ns <= READ_ONCE(t->job->membership.sealed_ns) ||
	      (t->job->setup.deadline_ns && t->a->now > buffer->opened_ns &&
	       t->a->now - buffer->opened_ns > t->job->setup.deadline_ns))))
		return olaf_round_complete(ctx, t);
	return olaf_round_ask(ctx, t);
}

static __always_inline int olaf_is_overdue(const struct olaf_meeting *t,
					   const struct olaf_round_buffer *buffer)
{
	__u64 patience_ns = OLAF_OVERDUE_TIMES * READ_ONCE(t->job->turnaround_ns);

	if (patience_ns < OLAF_OVERDUE_LEAST_NS)
		patience_ns = OLAF_OVERDUE_LEAST_NS;
	if (patience_ns > OLAF_OVERDUE_MOST_NS)
		patience_ns = OLAF_OVERDUE_MOST_NS;
	if (buffer->up_ns < READ_ONCE(t->job->answered_up_ns))
		return 1;
	return t->a->now > buffer->up_ns && t->a->now - buffer->up_ns > patience_ns;
}

/* The aggregate goes up once more, if its result is overdue. Under the slot's lock. */
static __always_inline int olaf_round_again(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	if (!olaf_is_overdue(t, t->buffer))
		return OLAF_ROUND_RIDE;
	t->buffer->up_ns = t->a->now;
	olaf_count_job(t->m->job, up_again);
	return olaf_up_write(ctx, t->buffer_index);
}

/* The contribution's buffer is with the parent. Under the slot's lock. */
static __always_inline int olaf_meet_up(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	struct olaf_round_buffer *buffer = t->buffer;

	if (!olaf_round_is_in(t, buffer)) {
		olaf_count_met(t, late);
		return OLAF_ROUND_RIDE;
	}
	olaf_count_met(t, duplicate);
	return olaf_round_again(ctx, t);
}

/* The result is there: the frame becomes the sender's. Under the slot's lock. */
static __always_inline int olaf_answer_result(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	struct olaf_round_buffer *buffer = t->buffer;
	int owed;

	if (buffer->flags & OLAF_FLAG_STALE)
		return olaf_answer_stale(ctx, t);
	/* If it is owed still, it leaves in another frame, or in a clone of this one. */
	if (!olaf_frame_holds(t->a, t->job))
		return OLAF_ROUND_RIDE;
	owed = olaf_owed_settle(t->job, t->m->job, buffer, t->m->rank);
	if (olaf_result_write(ctx, t->buffer_index, t->m->rank) == OLAF_WRITTEN) {
		if (owed)
			olaf_count_job(t->m->job, riding);
		else
			olaf_count_job(t->m->job, repeated);
		return OLAF_ROUND_SEND;
	}
	if (owed)
		olaf_count_job(t->m->job, undelivered);
	return OLAF_ROUND_LEAVE;
}

/* The contribution's buffer is DONE. Under the slot's lock. */
static __always_inline int olaf_meet_done(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	if (olaf_round_is_in(t, t->buffer))
		olaf_count_met(t, duplicate);
	else
		olaf_count_met(t, late);
	return olaf_answer_result(ctx, t);
}

/* A probe: who asks for a result adds nothing. Under the slot's lock. */
static __always_inline int olaf_meet_probe(struct xdp_md *ctx, const struct olaf_meeting *t,
					   __u32 which, __u32 generation)
{
	olaf_count_job(t->m->job, probes);
	if (which == OLAF_MEETS_STALE)
		return olaf_answer_stale(ctx, t);
	/* If all members here ask, nobody opens the chunk: only the parent knows what became of it. */
	if (which >= OLAF_ROUND_BUFFERS)
		return t->job->setup.parent_family ? olaf_up_ask(ctx, generation) : OLAF_ROUND_RIDE;
	if (t->buffer->state == OLAF_ROUND_OPEN)
		return olaf_round_ask(ctx, t);
	if (t->buffer->state == OLAF_ROUND_UP)
		return olaf_round_again(ctx, t);
	return olaf_answer_result(ctx, t);
}

/* The contribution's slot has no buffer of its round and chunk. Under the slot's lock. */
static __always_inline int olaf_meet_none(struct xdp_md *ctx, struct olaf_meeting *t, __u32 which,
					  __u32 generation)
{
	if (which < OLAF_ROUND_BUFFERS && !olaf_is_joining(t->job, t->m->rank)) {
		olaf_meets(t, which);
		return olaf_round_open(ctx, t, generation);
	}
	if (which != OLAF_MEETS_STALE) {
		olaf_count_met(t, ahead);
		return OLAF_ROUND_RIDE;
	}
	olaf_count_met(t, stale);
	return olaf_answer_stale(ctx, t);
}

/*
 * The job takes no contribution of that generation now. STALE with the generation that the sender has
 * would say that the chunk is over: so nothing is said while the job is halted, nor where it is being
 * removed. Under the slot's lock.
 */
static __always_inline int olaf_meet_closed(struct xdp_md *ctx, const struct olaf_meeting *t,
					    __u32 halted)
{
	if (halted)
		olaf_count_refused(t, halted);
	else
		olaf_count_refused(t, stale);
	return !halted && READ_ONCE(t->job->state) != OLAF_JOB_NONE ? olaf_answer_stale(ctx, t) :
								      OLAF_ROUND_RIDE;
}

/* Whoever sends it is no member in that round, and is told. Under the slot's lock. */
static __always_inline int olaf_meet_stranger(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	olaf_count_refused(t, stale);
	return olaf_answer_refusal(ctx, 0);
}

/* Two members' vectors differ, and each member that contributes is told. Under the slot's lock. */
static __always_inline int olaf_meet_misfit(struct xdp_md *ctx, const struct olaf_meeting *t)
{
	olaf_count_refused(t, stale);
	olaf_misfit_read(t->m->job);
	return olaf_answer_refusal(ctx, OLAF_FLAG_MISFIT);
}

/*
 * Do the buffer's lanes match their checksum lane? A global function: rare, and verified once. Under the
 * slot's lock.
 */
__noinline int olaf_round_is_sound(__u32 buffer_index, __u32 lanes)
{
	__u64 *lane = olaf_round_lanes_at(buffer_index), sum = 0;
	__u32 data = olaf_clamp(lanes, 2, olaf_cfg.max_lanes) - 1, i;

	if (!lane)
		return 1;
	for (i = 0; i < olaf_cfg.max_lanes; i++) {
		if (i >= data)
			break;
		sum += (2 * i + 1) * lane[i];
	}
	return sum == lane[data];
}

/*
 * The sender's result doesn't match its checksum lane. If the buffer's doesn't either, a contribution was
 * damaged on its way here, or to a node below, or the parent's result was: the buffer becomes FREE, and all
 * contribute anew, for all have found the same. Else the result was damaged behind this node, and leaves again.
 * Where an aggregate has gone up, only a child that was in it can say so. Returns whether the buffer is FREE, for
 * this contribution to open. Under the slot's lock.
 */
static __always_inline int olaf_round_recheck(const struct olaf_meeting *t, __u32 which)
{
	struct olaf_round_buffer *buffer = &t->slot->buffer[which & 1];

	if (buffer->state != OLAF_ROUND_DONE || t->m->count > t->job->setup.max_count ||
	    olaf_is_joining(t->job, t->m->rank) ||
	    (buffer->flags & (OLAF_FLAG_STALE | OLAF_FLAG_MISFIT)) ||
	    !(t->job->setup.shape & OLAF_FLAG_CHECKSUM) ||
	    (buffer->went_up && !olaf_ranks_has(&buffer->given, t->m->rank)) ||
	    olaf_round_is_sound(OLAF_ROUND_BUFFERS * t->slot_index + (which & 1), t->job->setup.lanes))
		return 0;
	olaf_round_free(buffer, t->m->job);
	olaf_count_job(t->m->job, spoilt);
	return 1;
}

/* The table. Under the slot's lock. */
static __always_inline int olaf_meet(struct xdp_md *ctx, struct olaf_meeting *t)
{
	__u32 generation = READ_ONCE(t->job->generation), is_free = 0, which;
	__u32 runs = olaf_job_runs(t->job), halted = READ_ONCE(t->job->halted);

	olaf_round_void(t->slot, t->m->job, generation);
	if (!runs || halted || t->m->generation != generation)
		return olaf_meet_closed(ctx, t, runs && halted);
	if (olaf_is_absent(t->job, t->m->round, t->m->rank))
		return olaf_meet_stranger(ctx, t);
	if (READ_ONCE(t->job->misfit_generation) == generation)
		return olaf_meet_misfit(ctx, t);
	which = olaf_round_find(t->slot, t->m->round, t->m->chunk);
	if ((t->m->flags & OLAF_FLAG_SPOILT) && t->a->update.lanes && which != OLAF_ROUND_BUFFERS)
		is_free = olaf_round_recheck(t, which);
	if (is_free || which == OLAF_ROUND_BUFFERS) {
		if (!is_free)
			which = olaf_round_choose(t->slot, t->m->round, t->m->chunk);
		if (t->a->update.lanes)
			return olaf_meet_none(ctx, t, which, generation);
		return olaf_meet_probe(ctx, t, which < OLAF_ROUND_BUFFERS ? OLAF_MEETS_AHEAD : which,
				       generation);
	}
	olaf_meets(t, which);
	if (!t->a->update.lanes && !olaf_round_abstains(t))
		return olaf_meet_probe(ctx, t, which, generation);
	if (t->buffer->state == OLAF_ROUND_OPEN)
		return olaf_meet_open(ctx, t);
	if (t->buffer->state == OLAF_ROUND_UP)
		return olaf_meet_up(ctx, t);
	return olaf_meet_done(ctx, t);
}

/* The contribution at hand. Returns enum olaf_round_act. */
static __always_inline int olaf_contribute(struct xdp_md *ctx, struct olaf_arrival *a,
					   struct olaf_round_message *m, struct olaf_job *job)
{
	struct olaf_meeting t = { .a = a, .m = m, .job = job };
	int act;

	t.slot_index = olaf_round_slot_of(t.job, t.m->chunk);
	t.slot = olaf_round_slot_at(t.slot_index);
	if (!t.slot)
		return OLAF_ROUND_LEAVE;
	if (READ_ONCE(t.job->flushing) != !!(t.m->flags & OLAF_FLAG_FLUSH))
		WRITE_ONCE(t.job->flushing, !!(t.m->flags & OLAF_FLAG_FLUSH));
	if (!olaf_lock(&t.slot->lock)) {
		olaf_count_met(&t, ahead);
		return OLAF_ROUND_LEAVE;
	}
	act = olaf_meet(ctx, &t);
	olaf_unlock(&t.slot->lock);
	return act;
}

#endif /* OLAF_ROUND_TABLE_BPF_H */
