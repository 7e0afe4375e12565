// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Rounds: synchronous aggregation of jobs (docs/rounds.md). The entrance calls it with every
 * message that is a job's, if there is that job.
 *
 *   CONTRIBUTION of a child -> added, or answered -> to the parent when complete
 *                                                 -> else the frame carries a result away
 *   RESULT of the parent    -> is owed to all children; the frame carries one away
 *   CONTROL                 -> where to begin
 *
 * Contributions of floats are added by a program of its own (floats.bpf.c), so that those of integers
 * cost nothing more, and the verifier has no more to follow here. It runs on every receive queue at once:
 * slots.bpf.h, deliveries.bpf.h and jobs.bpf.h say what orders the CPUs. Locks are taken in this order: a
 * slot's, then the line's or the job's.
 */
#include "bpf/packet/ours.bpf.h"
#include "bpf/rounds/child.bpf.h"
#include "bpf/rounds/control.bpf.h"
#include "bpf/rounds/down.bpf.h"
#include "bpf/rounds/end.bpf.h"
#include "bpf/rounds/job_ids.bpf.h"
#include "bpf/rooms.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Whose job is the message? Fills m->job and m->type. Returns the job; NULL: there is none here. */
static __always_inline struct olaf_job *olaf_round_look(struct xdp_md *ctx,
							const struct olaf_arrival *a,
							struct olaf_round_message *m)
{
	const struct olaf_header *header =
		olaf_round_header((void *)(long)ctx->data, (void *)(long)ctx->data_end, a);

	if (!header)
		return NULL;
	m->type = header->type;
	return olaf_job_of(bpf_ntohl(header->cluster_be), &m->job);
}

/*
 * Says in a->now what time it is. A tick is fine enough to know who is silent, and reading the clock
 * costs a tenth of a contribution. What a deadline or the way to a parent takes is told exactly.
 */
static __always_inline void olaf_round_clock(struct olaf_arrival *a, struct olaf_round_message *m,
					     const struct olaf_job *job)
{
	__u32 tick = bpf_jiffies64();

	if (m->tick == tick && a->now && !job->setup.deadline_ns && !job->setup.parent_family)
		return;
	m->tick = tick;
	a->now = bpf_ktime_get_ns();
}

/* Is the message addressed to this node, or on its way to the job's parent? */
static __always_inline int olaf_round_is_ours(struct xdp_md *ctx, struct olaf_arrival *a,
					      const struct olaf_round_message *m,
					      const struct olaf_job *job)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (olaf_target_is_own(ctx, a))
		return 1;
	if (m->type == OLAF_RESULT)
		return olaf_is_to_parents_group(data, end, a, job);
	return job->setup.parent_family &&
	       olaf_sender_meant(data, end, a, job->setup.parent_addr_be, job->setup.parent_family);
}

/* The parent's RESULT. A global function: verified once. */
__noinline int olaf_down(struct xdp_md *ctx)
{
	return olaf_down_by(ctx, olaf_frame_load_xdp);
}

/* The message is the job's. Returns enum olaf_round_act. */
static __always_inline int olaf_round_handle(struct xdp_md *ctx, struct olaf_arrival *a,
					     struct olaf_round_message *m, struct olaf_job *job)
{
	int act;

	if (m->type == OLAF_RESULT) {
		if (olaf_is_from_parent((void *)(long)ctx->data, (void *)(long)ctx->data_end, a, job))
			return olaf_down(ctx);
		olaf_refuse_arrival(ctx, a, OLAF_NOT_ALLOWED_JOB_RESULT, 0);
		return OLAF_ROUND_LEAVE;
	}
	if (m->type == OLAF_CONTROL && (m->flags & OLAF_FLAG_ANSWER))
		return olaf_control(ctx, a, m, job);
	act = olaf_child_meet(ctx, a, m);
	if (act != OLAF_CHILD_KNOWN)
		return act;
	return m->type == OLAF_CONTROL ? olaf_control(ctx, a, m, job) :
					 olaf_contribute(ctx, a, m, job);
}

/*
 * The question at hand is of a job that is here, in another version of the protocol. The frame becomes an answer
 * to its sender, of which any version understands the version. Nothing else changes. Returns enum
 * olaf_round_act. A global function: verified once.
 */
__noinline int olaf_version_tell(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	const struct olaf_header *asked;
	struct olaf_job *job;

	if (!a || !m || !staged)
		return OLAF_ROUND_LEAVE;
	asked = olaf_round_header((void *)(long)ctx->data, (void *)(long)ctx->data_end, a);
	job = olaf_job_at(m->job);
	a->now = bpf_ktime_get_ns();
	a->update.lanes = a->message_bytes / 8 - sizeof(*asked) / 8;
	/* Damage is of any version. Two nodes of different versions would answer each other's answers for ever. */
	if (!asked || !job || asked->type != OLAF_CONTROL || (asked->flags_be & bpf_htons(OLAF_FLAG_ANSWER)) ||
	    a->update.lanes > olaf_cfg.max_lanes || olaf_udp_is_wrong(ctx) || !olaf_target_is_own(ctx, a) ||
	    !olaf_sender_allowed(ctx, a) || !olaf_child_read(ctx, a, m))
		return OLAF_ROUND_LEAVE;
	olaf_round_way_to(&way, &m->sender);
	staged->message = (struct olaf_header){};
	olaf_round_head(&staged->message, OLAF_CONTROL, OLAF_FLAG_ANSWER, 0, job->setup.id, OLAF_EVERY_RANK);
	staged->message.status_be = bpf_htons(OLAF_CONTROL_VERSION);
	return olaf_staged_put(ctx, a, staged, NULL, 0, 0, &way) == OLAF_WRITTEN ? OLAF_ROUND_SEND :
										  OLAF_ROUND_LEAVE;
}

SEC("xdp.frags")
int olaf_rounds(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_job *job;
	int frame;

	if (!a || !m)
		return XDP_PASS;
	job = olaf_round_look(ctx, a, m);
	if (!job) {
		if (m->type == OLAF_CONTROL)
			olaf_count(bypassed[OLAF_BYPASS_OTHER]);
		else
			olaf_trouble_bypassed(OLAF_BYPASS_JOB, bpf_ktime_get_ns());
		return XDP_PASS;
	}
	frame = olaf_round_take(ctx, a, m);
	if (frame != OLAF_FRAME_ROUND) {
		olaf_refuse_malformed(ctx, frame - OLAF_FRAME_MALFORMED, bpf_xdp_get_buff_len(ctx));
		return frame == olaf_malformed(OLAF_MALFORMED_VERSION) && olaf_version_tell(ctx) == OLAF_ROUND_SEND ?
			       olaf_send_back(ctx) :
			       XDP_DROP;
	}
	olaf_round_clock(a, m, job);
	if (!olaf_round_is_ours(ctx, a, m, job)) {
		olaf_trouble_bypassed(OLAF_BYPASS_FOREIGN, a->now);
		return XDP_PASS;
	}
	if (!olaf_round_fits(a, m, job)) {
		olaf_refuse_malformed(ctx, OLAF_MALFORMED_JOB, bpf_xdp_get_buff_len(ctx));
		return XDP_DROP;
	}
	if (m->type == OLAF_CONTRIBUTION && olaf_shape_is_floats(job->setup.shape)) {
		bpf_tail_call(ctx, &olaf_rooms, OLAF_ROOM_FLOATS);
		return XDP_DROP;
	}
	return olaf_round_end(ctx, a, m, job, olaf_round_handle(ctx, a, m, job));
}
