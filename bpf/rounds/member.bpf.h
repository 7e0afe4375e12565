/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who a child is: its rank is bound to the address and port that it sends from.
 *
 * The first frame of a rank binds it, until it has been silent for the member timeout; `olaf job
 * set --member` binds it for good. Nearly always the frame says what is known already, and that is
 * one look at a cache line.
 */
#ifndef OLAF_ROUND_MEMBER_BPF_H
#define OLAF_ROUND_MEMBER_BPF_H

#include "bpf/ack/claimant.bpf.h"
#include "bpf/ack/sender.bpf.h"
#include "bpf/rounds/message.bpf.h"

/* Binds the rank of the message at hand to its source, if that may be. 0, or -1: it may not. */
__noinline int olaf_child_bind(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_member sender = {};
	struct olaf_child *child;
	enum olaf_claimant claimant;
	int bound = -1;

	if (!a || !m)
		return -1;
	child = olaf_child_at(m->job, m->rank);
	if (!child || olaf_sender_read(ctx, a, &sender) || !olaf_sender_is_reachable(&sender))
		return -1;
	claimant = olaf_claimant(&child->member, &sender);
	if (claimant == OLAF_CLAIMANT_OTHER)
		return -1;
	/* Somebody else writes it: the child's next frame will do, unless this is another's. */
	if (!olaf_member_open(&child->member))
		return claimant == OLAF_CLAIMANT_KNOWN ? 0 : -1;
	if (olaf_claimant(&child->member, &sender) != OLAF_CLAIMANT_OTHER) {
		sender.sequence = child->member.sequence;
		sender.flags = child->member.flags;
		child->member = sender;
		bound = 0;
	}
	olaf_member_close(&child->member);
	return bound;
}

/* Does the message at hand come from the child whose rank it has? */
static __always_inline int olaf_child_is_sender(struct xdp_md *ctx, const struct olaf_arrival *a,
						const struct olaf_round_message *m)
{
	struct olaf_child *child = olaf_child_at(m->job, m->rank);

	return child && (olaf_member_stands(ctx, a, &child->member) || !olaf_child_bind(ctx));
}

/* The same, where another sender is refused, and counted. Returns whether it is. */
static __always_inline int olaf_child_refuse(struct xdp_md *ctx, const struct olaf_arrival *a,
					     const struct olaf_round_message *m)
{
	if (olaf_child_is_sender(ctx, a, m))
		return 0;
	olaf_trouble_not_allowed(OLAF_NOT_ALLOWED_JOB_SOURCE, a->now);
	return 1;
}

#endif /* OLAF_ROUND_MEMBER_BPF_H */
