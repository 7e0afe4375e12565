/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who a child is: its rank is bound to the address and port that it sends from.
 *
 * The first frame of a rank binds it, until it has been silent for the member timeout; `olaf job
 * set --member` binds it for good, and with --strict it must. Nearly always the frame says what is known
 * already, and that is one look at a cache line. So --allow and --strict are asked only where a rank is bound,
 * and when its member is looked at anew; so is whether UDP's checksum, which has source and destination in
 * it, is right: a flipped bit must not take the rank away from its child.
 *
 * A rank belongs to a process of the run that has the job (run.bpf.h). So a SYNC or JOIN asks for the job
 * before it binds a rank, while no other CPU can bind that rank; and a rank that hasn't asked in this run is
 * free for whoever asks first, at any address. What is of a run that lost the job is answered where it came
 * from.
 *
 * Whoever knows neither the run nor the generation is a stranger: what he sends binds nothing, and doesn't
 * say that a member lives. Nobody who isn't bound is told the generation, but a JOIN of the run.
 *
 *   the message         from where the rank is   from where it may be   from elsewhere
 *   SYNC, JOIN          as the run is            as the run is          as the run is
 *   CONTRIBUTION        it is the child's        binds                  refused
 *     other generation  it is the child's        STALE, generation 0    refused; STALE, generation 0
 *   other orders        it is the child's        refused; OLD, as next  refused
 *     other generation  OLD                      OLD, generation 0      refused
 *
 * "May be" is where nobody lives, or at the rank's own address after a short silence (olaf_claimant()).
 */
#ifndef OLAF_ROUND_CHILD_BPF_H
#define OLAF_ROUND_CHILD_BPF_H

#include "bpf/ack/sender.bpf.h"
#include "bpf/age/refusal.bpf.h"
#include "bpf/packet/allow.bpf.h"
#include "bpf/rounds/frames.bpf.h"
#include "bpf/rounds/message.bpf.h"
#include "bpf/rounds/run.bpf.h"

/* Of olaf_child_meet(), beside enum olaf_round_act: the message is its rank's. */
#define OLAF_CHILD_KNOWN -1

/* Of olaf_child_bind(), beside 0 and 1 + enum olaf_not_allowed. */
enum olaf_child_bound {
	OLAF_CHILD_IS_OTHER = -1, /* it is answered where it came from, and bound to nothing */
	OLAF_CHILD_IS_STALE = -2, /* a contribution from elsewhere, of another generation */
	OLAF_CHILD_IS_NEW = -3, /* an order: the same, for its sender has to ask where to begin first */
};

/* Whom the frame at hand comes from, to m->sender. Returns whether an answer may go there. */
static __always_inline int olaf_child_read(struct xdp_md *ctx, const struct olaf_arrival *a,
					   struct olaf_round_message *m)
{
	m->sender = (struct olaf_member){};
	return !olaf_sender_read(ctx, a, &m->sender) && olaf_sender_is_reachable(&m->sender);
}

/* Does the message at hand ask for the job, in the name of a run? */
static __always_inline int olaf_asks_for_job(const struct olaf_round_message *m)
{
	return m->type == OLAF_CONTROL && olaf_control_lanes(m);
}

/* May it bind nobody, as it is an order of a member's? */
static __always_inline int olaf_binds_nobody(const struct olaf_round_message *m)
{
	return m->type == OLAF_CONTROL && !olaf_control_lanes(m);
}

/* Is the message at hand, of another generation or an order, answered to whoever isn't where the rank is? */
static __always_inline int olaf_child_unbound(struct olaf_round_message *m, const struct olaf_job *job,
					      enum olaf_claimant claimant)
{
	int is_other = claimant == OLAF_CLAIMANT_OTHER;

	if (m->type == OLAF_CONTRIBUTION)
		return is_other ? OLAF_CHILD_IS_STALE : OLAF_CHILD_IS_OTHER;
	if (is_other)
		return 1 + OLAF_NOT_ALLOWED_JOB_SOURCE;
	olaf_order_is_old(job, m);
	m->generation = 0;
	return OLAF_CHILD_IS_NEW;
}

/*
 * May m->sender have the rank, whose member is open? Returns as olaf_child_bind(), and whom the rank is bound
 * to doesn't change.
 */
static __always_inline int olaf_child_claim(const struct olaf_child *child, struct olaf_round_message *m)
{
	int refused = 1 + OLAF_NOT_ALLOWED_JOB_SOURCE, admission;
	int is_other = olaf_claimant(&child->member, &m->sender) == OLAF_CLAIMANT_OTHER;

	if (olaf_is_bound_elsewhere(&child->member, &m->sender))
		return refused;
	if (!olaf_asks_for_job(m))
		return is_other || (olaf_binds_nobody(m) && !olaf_sender_is_there(&child->member, &m->sender)) ?
			       refused :
			       0;
	admission = olaf_run_admit(is_other);
	if (admission == OLAF_ADMISSION_REFUSED)
		return OLAF_CHILD_IS_OTHER;
	return admission == OLAF_ADMISSION_GRANTED ? 0 : refused;
}

/*
 * Binds the rank of the message at hand to its source, if that may be. 0, 1 + enum olaf_not_allowed: it
 * may not, or enum olaf_child_bound.
 */
__noinline int olaf_child_bind(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	int refused = 1 + OLAF_NOT_ALLOWED_JOB_SOURCE;
	enum olaf_claimant claimant;
	struct olaf_child *child;
	struct olaf_job *job;
	int asks, knows;

	if (!a || !m)
		return refused;
	job = olaf_job_at(m->job);
	child = olaf_child_at(m->job, m->rank);
	if (!olaf_sender_allowed(ctx, a))
		return 1 + OLAF_NOT_ALLOWED_SOURCE;
	if (!job || !child)
		return refused;
	if ((olaf_cfg.flags & OLAF_CONFIG_STRICT) &&
	    !(READ_ONCE(child->member.flags) & OLAF_MEMBER_REGISTERED))
		return 1 + OLAF_NOT_ALLOWED_WORKER;
	asks = olaf_asks_for_job(m);
	knows = m->generation == READ_ONCE(job->generation);
	if (!asks && (knows ? olaf_member_touch(ctx, a, &child->member) :
			      olaf_sender_is_known((void *)(long)ctx->data, (void *)(long)ctx->data_end,
						   a, &child->member)))
		return 0;
	if (!olaf_child_read(ctx, a, m))
		return refused;
	claimant = olaf_claimant(&child->member, &m->sender);
	if (!asks && (!knows || (olaf_binds_nobody(m) && !olaf_sender_is_there(&child->member, &m->sender))))
		return olaf_child_unbound(m, job, claimant);
	if (claimant == OLAF_CLAIMANT_OTHER &&
	    (!asks || olaf_is_bound_elsewhere(&child->member, &m->sender)))
		return refused;
	/* Somebody else writes it: the child's next frame will do, unless this is another's. */
	if (!olaf_member_open(&child->member))
		return claimant == OLAF_CLAIMANT_KNOWN ? 0 : refused;
	refused = olaf_child_claim(child, m);
	if (!refused) {
		m->sender.sequence = child->member.sequence;
		m->sender.flags = child->member.flags;
		child->member = m->sender;
	}
	olaf_member_close(&child->member);
	return refused;
}

/*
 * A contribution of another generation, from elsewhere than its rank is bound to: it may be a process of a run
 * that lost the job, which is told to ask. Returns enum olaf_round_act.
 */
static __always_inline int olaf_child_answer_stale(struct xdp_md *ctx, struct olaf_round_message *m)
{
	m->action = m->generation;
	return olaf_refusal_write(ctx, OLAF_FLAG_STALE) == OLAF_WRITTEN ? OLAF_ROUND_SEND :
									  OLAF_ROUND_LEAVE;
}

/*
 * Is the message at hand that of the child whose rank it has? OLAF_CHILD_KNOWN, or what becomes of the frame,
 * enum olaf_round_act: whoever else sent it is refused, and counted. OLAF_CHILD_KNOWN with m->to_source: a
 * CONTROL message is the answer now, and a contribution is of another generation.
 */
static __always_inline int olaf_child_meet(struct xdp_md *ctx, const struct olaf_arrival *a,
					   struct olaf_round_message *m)
{
	struct olaf_child *child = olaf_child_at(m->job, m->rank);
	int reason;

	if (child && olaf_member_stands(ctx, a, &child->member))
		return OLAF_CHILD_KNOWN;
	if (a->update.lanes <= olaf_cfg.max_lanes && olaf_udp_is_wrong(ctx)) {
		olaf_refuse_malformed(ctx, OLAF_MALFORMED_UDP_CHECKSUM, bpf_xdp_get_buff_len(ctx));
		return OLAF_ROUND_LEAVE;
	}
	reason = olaf_child_bind(ctx);
	m->to_source = reason < 0;
	if (reason == OLAF_CHILD_IS_STALE || reason == OLAF_CHILD_IS_NEW)
		olaf_refuse_arrival(ctx, a, OLAF_NOT_ALLOWED_JOB_SOURCE, 0);
	if (reason == OLAF_CHILD_IS_STALE)
		return olaf_child_answer_stale(ctx, m);
	if (reason <= 0)
		return OLAF_CHILD_KNOWN;
	olaf_refuse_arrival(ctx, a, olaf_clamp(reason - 1, 0, OLAF_NOT_ALLOWED_REASONS - 1), 0);
	return OLAF_ROUND_LEAVE;
}

#endif /* OLAF_ROUND_CHILD_BPF_H */
