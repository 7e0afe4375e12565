// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What `olaf job` does, as a program that user space runs: it takes the locks that XDP takes, and
 * unlike a process it is never killed halfway.
 *
 * Those locks want softirqs off (bpf/lock.bpf.h), which no program of type syscall has. So this one
 * is XDP's, and it is run with a frame of its own that ends here (BPF_F_TEST_XDP_LIVE_FRAMES): the
 * kernel disables softirqs around that.
 *
 * Map olaf_job_desk: key 0, the order and its answer. Writers: user space, which lets one command
 * at a time come here (the lock of the pins); this program, the answer.
 *
 * -EAGAIN leaves an order half done. It is asked for again until it is done: every step may be done
 * twice. A job is in nobody's way meanwhile, for SET gives it its state last, and REMOVE takes it
 * first.
 */
#include <linux/errno.h>

#include "bpf/ack/member.bpf.h"
#include "bpf/rounds/deliveries.bpf.h"
#include "bpf/rounds/job_ids.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_job_desk);
} olaf_job_desk SEC(".maps");

/* A walk over a job's slots or children. */
struct olaf_walk {
	__u32 job; /* index */
	__u32 first; /* slot */
	__u32 generation;
	__u32 busy; /* that were held by others: ask again */
};

/* A buffer as if nobody had ever used it. Under its slot's lock. */
static __always_inline void olaf_round_empty(struct olaf_round_buffer *buffer)
{
	olaf_owed_forget(buffer);
	buffer->in = (struct olaf_ranks){};
	WRITE_ONCE(buffer->state, OLAF_ROUND_FREE);
	buffer->generation = 0;
	buffer->round = 0;
	buffer->chunk = 0;
	buffer->added = 0;
	buffer->count = 0;
	buffer->flags = 0;
}

static long olaf_empty_slot(__u32 i, struct olaf_walk *walk)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(walk->first + i);

	if (!slot)
		return 1;
	if (!olaf_lock(&slot->lock)) {
		walk->busy++;
		return 0;
	}
	olaf_round_empty(&slot->buffer[0]);
	olaf_round_empty(&slot->buffer[1]);
	olaf_unlock(&slot->lock);
	return 0;
}

static long olaf_forget_child(__u32 rank, struct olaf_walk *walk)
{
	struct olaf_child *child = olaf_child_at(walk->job, rank);

	if (!child)
		return 1;
	if (!olaf_member_open(&child->member)) {
		walk->busy++;
		return 0;
	}
	olaf_member_clear(&child->member);
	olaf_member_close(&child->member);
	WRITE_ONCE(child->stamp, 0);
	WRITE_ONCE(child->newest_ns, 0);
	WRITE_ONCE(child->joined_ns, 0);
	WRITE_ONCE(child->waited_ns, 0);
	WRITE_ONCE(child->incarnation, 0);
	return 0;
}

/* Both ends count up for ever: who takes a delivery right now mustn't move the head past the tail. */
static long olaf_empty_line(__u32 number, struct olaf_walk *walk)
{
	struct olaf_job *job = olaf_job_at(walk->job);
	struct olaf_line *line;

	if (!job)
		return 1;
	line = olaf_line_at(job, number);
	if (!olaf_lock(&line->lock)) {
		walk->busy++;
		return 0;
	}
	WRITE_ONCE(line->head, line->tail);
	olaf_unlock(&line->lock);
	return 0;
}

/*
 * Forgets what was under way in the job that stands there or stood there, and its members. It must
 * be in state NONE. Returns 0 or -EAGAIN.
 */
static __always_inline int olaf_job_clear(__u32 index, __u32 first, __u32 slots)
{
	struct olaf_walk walk = { .job = index, .first = first };

	bpf_loop(slots, olaf_empty_slot, &walk, 0);
	bpf_loop(OLAF_RANKS, olaf_forget_child, &walk, 0);
	bpf_loop(OLAF_MAX_LINES, olaf_empty_line, &walk, 0);
	return walk.busy ? -EAGAIN : 0;
}

/*
 * FLUSH of one buffer. An inner node has no frame here that could go up, and floats are made of sums
 * by the program that adds them: the next duplicate of any member does that, and the buffer counts
 * as overdue until then.
 */
static __always_inline void olaf_round_flush(struct olaf_job *job, const struct olaf_walk *walk,
					     struct olaf_round_buffer *buffer, __u32 buffer_index)
{
	if (buffer->state != OLAF_ROUND_OPEN || buffer->generation != walk->generation ||
	    !buffer->added)
		return;
	if (job->setup.parent_family || olaf_shape_is_floats(job->setup.shape)) {
		buffer->opened_ns = OLAF_ROUND_OVERDUE;
		return;
	}
	buffer->flags |= OLAF_FLAG_PARTIAL;
	olaf_round_done(job, walk->job, buffer, buffer_index);
}

static long olaf_flush_slot(__u32 i, struct olaf_walk *walk)
{
	struct olaf_round_slot *slot = olaf_round_slot_at(walk->first + i);
	__u32 first = OLAF_ROUND_BUFFERS * (walk->first + i);
	struct olaf_job *job = olaf_job_at(walk->job);

	if (!slot || !job)
		return 1;
	if (!olaf_lock(&slot->lock)) {
		walk->busy++;
		return 0;
	}
	olaf_round_flush(job, walk, &slot->buffer[0], first);
	olaf_round_flush(job, walk, &slot->buffer[1], first + 1);
	olaf_unlock(&slot->lock);
	return 0;
}

static __always_inline int olaf_setup_of_floats_is_sound(const struct olaf_job_setup *setup)
{
	if (!olaf_shape_is_floats(setup->shape))
		return 1;
	return !(setup->shape & OLAF_FLAG_CHECKSUM) && setup->float_bits <= OLAF_MOST_FLOAT_BITS &&
	       setup->float_headroom <= OLAF_MOST_FLOAT_HEADROOM &&
	       setup->max_count <= 1U << setup->float_headroom &&
	       OLAF_FLOAT_LANES * setup->lanes <= olaf_cfg.max_lanes;
}

static __always_inline int olaf_setup_is_sound(const struct olaf_job_setup *setup)
{
	return setup->id != OLAF_EVERY_WORKER && setup->children &&
	       setup->children <= OLAF_RANKS && setup->threshold && setup->max_count &&
	       setup->pool < 32 && setup->slots == 1U << setup->pool &&
	       setup->slots <= olaf_cfg.round_slots &&
	       setup->first_slot <= olaf_cfg.round_slots - setup->slots && setup->lanes &&
	       setup->lanes <= olaf_cfg.max_lanes && olaf_setup_of_floats_is_sound(setup);
}

/* Its members must agree where to begin. Under the job's lock. */
static __always_inline void olaf_job_begin(struct olaf_job *job, __u32 generation)
{
	WRITE_ONCE(job->generation, generation ? generation : 1);
	job->next_round = 0;
	job->next_chunk = 0;
	olaf_asked_clear(job);
	olaf_membership_stopped(job);
	/* XDP reads it without the lock: what it goes by must be there. */
	olaf_release_as(&job->state, OLAF_JOB_SYNCING);
}

/* Who isn't there yet. Under the job's lock. */
static __always_inline void olaf_members_begin(struct olaf_job *job, const struct olaf_ranks *absent)
{
	struct olaf_membership *membership = &job->membership;

	__builtin_memset(membership, 0, sizeof(*membership));
	membership->absent[0] = *absent;
	membership->absent[1] = *absent;
	membership->away = !olaf_ranks_are_none(absent);
	olaf_membership_unsettle(job, OLAF_MEMBERS_YOUNG |
					      (membership->away ? OLAF_MEMBERS_FORGOT : 0));
}

/* The rank is no member any more, as if it had gone silent. */
static __always_inline int olaf_job_leave(const struct olaf_job_order *asked, struct olaf_job *job)
{
	if (asked->rank >= job->setup.children)
		return -EINVAL;
	if (!olaf_lock(&job->lock))
		return -EAGAIN;
	if (!olaf_ranks_has(&job->membership.absent[olaf_membership_now(job)], asked->rank))
		olaf_member_leaves(job, asked->rank, olaf_next_round(job),
				   OLAF_MEMBERS_LEFT | OLAF_MEMBERS_DOUBTFUL);
	olaf_ranks_put(&job->tenancy.in, asked->rank, 0); /* a process elsewhere may have it now */
	olaf_unlock(&job->lock);
	return 0;
}

static __always_inline int olaf_job_set(const struct olaf_job_order *asked, struct olaf_job *job)
{
	const struct olaf_job_setup *setup = &asked->setup;
	__u32 index = asked->index, id = setup->id;
	int done;

	if (!olaf_setup_is_sound(setup) || !asked->generation)
		return -EINVAL;
	if (job->state != OLAF_JOB_NONE)
		return -EBUSY;
	if (bpf_map_lookup_elem(&olaf_job_ids, &id))
		return -EEXIST;
	done = olaf_job_clear(index, setup->first_slot, setup->slots);
	if (done)
		return done;
	if (!olaf_lock(&job->lock))
		return -EAGAIN;
	__builtin_memcpy(&job->setup, setup, sizeof(*setup));
	job->halted = 0;
	job->parent_generation = 0;
	job->asker = 0;
	job->flushing = 0;
	job->stamp = 0;
	job->turnaround_ns = 0;
	job->answered_up_ns = 0;
	job->session.id = 0;
	job->last_run = (struct olaf_last_run){};
	olaf_run_end(job);
	job->tenancy.absent = asked->absent;
	job->tenancy.flags = 0;
	olaf_members_begin(job, &asked->absent);
	olaf_job_begin(job, asked->generation);
	olaf_unlock(&job->lock);
	done = bpf_map_update_elem(&olaf_job_ids, &id, &index, BPF_NOEXIST);
	if (done)
		WRITE_ONCE(job->state, OLAF_JOB_NONE);
	return done;
}

/* `setup` stays: who found the job a moment ago may still go by it. */
static __always_inline int olaf_job_remove(__u32 index, struct olaf_job *job)
{
	__u32 id = job->setup.id, *there;

	if (!olaf_lock(&job->lock))
		return -EAGAIN;
	WRITE_ONCE(job->state, OLAF_JOB_NONE);
	olaf_unlock(&job->lock);
	there = bpf_map_lookup_elem(&olaf_job_ids, &id);
	if (there && *there == index)
		bpf_map_delete_elem(&olaf_job_ids, &id);
	return olaf_job_clear(index, job->setup.first_slot, job->setup.slots);
}

static __always_inline int olaf_job_change(__u32 action, struct olaf_job *job)
{
	if (!olaf_lock(&job->lock))
		return -EAGAIN;
	if (action == OLAF_JOB_RESET)
		olaf_job_begin(job, job->generation + 1);
	else if (action == OLAF_JOB_RELEASE)
		olaf_run_end(job);
	else
		WRITE_ONCE(job->halted, action == OLAF_JOB_HALT);
	olaf_unlock(&job->lock);
	return 0;
}

/* What is open and has enough now is completed by the next repetition. */
static __always_inline int olaf_job_threshold(const struct olaf_job_order *asked, struct olaf_job *job)
{
	__u32 threshold = asked->setup.threshold;

	if (!threshold || threshold > olaf_most_threshold(&job->setup))
		return -EINVAL;
	if (!olaf_lock(&job->lock))
		return -EAGAIN;
	WRITE_ONCE(job->setup.threshold, threshold);
	job->setup.set_threshold = threshold;
	olaf_unlock(&job->lock);
	return 0;
}

static __always_inline int olaf_job_flush(__u32 index, const struct olaf_job *job)
{
	struct olaf_walk walk = { .job = index,
				  .first = job->setup.first_slot,
				  .generation = job->generation };

	bpf_loop(job->setup.slots, olaf_flush_slot, &walk, 0);
	return walk.busy ? -EAGAIN : 0;
}

/* As OLAF_ENROL_REGISTER. */
static __always_inline int olaf_job_bind(const struct olaf_job_order *asked,
					 const struct olaf_job *job)
{
	struct olaf_child *child = olaf_child_at(asked->index, asked->rank);

	if (!child || asked->rank >= job->setup.children)
		return -EINVAL;
	return olaf_member_register(&child->member, asked->family, asked->addr_be, asked->port_be);
}

static __always_inline int olaf_job_obey(const struct olaf_job_order *asked)
{
	struct olaf_job *job = olaf_job_at(asked->index);

	if (!job)
		return -EINVAL;
	if (asked->action == OLAF_JOB_SET)
		return olaf_job_set(asked, job);
	if (asked->action == OLAF_JOB_REMOVE)
		return olaf_job_remove(asked->index, job);
	if (job->state == OLAF_JOB_NONE)
		return -ENOENT;
	switch (asked->action) {
	case OLAF_JOB_RESET:
	case OLAF_JOB_HALT:
	case OLAF_JOB_RESUME:
	case OLAF_JOB_RELEASE:
		return olaf_job_change(asked->action, job);
	case OLAF_JOB_FLUSH:
		return olaf_job_flush(asked->index, job);
	case OLAF_JOB_THRESHOLD:
		return olaf_job_threshold(asked, job);
	case OLAF_JOB_LEAVE:
		return olaf_job_leave(asked, job);
	case OLAF_JOB_BIND:
		return olaf_job_bind(asked, job);
	}
	return -EINVAL;
}

SEC("xdp")
int olaf_job_order(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct olaf_job_desk *desk = bpf_map_lookup_elem(&olaf_job_desk, &zero);

	(void)ctx;
	if (desk)
		desk->answer = olaf_job_obey(&desk->order);
	return XDP_DROP;
}
