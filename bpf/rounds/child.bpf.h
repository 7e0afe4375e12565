/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who a child is: its rank is bound to the address and port that it sends from.
 *
 * The first frame of a rank binds it, until it has been silent for the member timeout; `olaf job
 * set --member` binds it for good, and with --strict it must. Nearly always the frame says what is known
 * already, and that is one look at a cache line. So --allow and --strict are asked only where a rank is bound,
 * and when its member is looked at anew; so is whether UDP's checksum, which has source and destination in
 * it, is right: a flipped bit must not take the rank away from its child.
 */
#ifndef OLAF_ROUND_CHILD_BPF_H
#define OLAF_ROUND_CHILD_BPF_H

#include "bpf/ack/sender.bpf.h"
#include "bpf/packet/allow.bpf.h"
#include "bpf/rounds/message.bpf.h"

/*
 * Binds the rank of the message at hand to its source, if that may be. 0, or 1 + enum olaf_not_allowed: it
 * may not.
 */
__noinline int olaf_child_bind(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_member sender = {};
	struct olaf_child *child;
	enum olaf_claimant claimant;
	int refused = 1 + OLAF_NOT_ALLOWED_JOB_SOURCE;

	if (!a || !m)
		return refused;
	child = olaf_child_at(m->job, m->rank);
	if (!olaf_sender_allowed(ctx, a))
		return 1 + OLAF_NOT_ALLOWED_SOURCE;
	if (!child)
		return refused;
	if ((olaf_cfg.flags & OLAF_CONFIG_STRICT) &&
	    !(READ_ONCE(child->member.flags) & OLAF_MEMBER_REGISTERED))
		return 1 + OLAF_NOT_ALLOWED_WORKER;
	if (olaf_member_touch(ctx, a, &child->member))
		return 0;
	if (olaf_sender_read(ctx, a, &sender) || !olaf_sender_is_reachable(&sender))
		return refused;
	claimant = olaf_claimant(&child->member, &sender);
	if (claimant == OLAF_CLAIMANT_OTHER)
		return refused;
	/* Somebody else writes it: the child's next frame will do, unless this is another's. */
	if (!olaf_member_open(&child->member))
		return claimant == OLAF_CLAIMANT_KNOWN ? 0 : refused;
	if (olaf_claimant(&child->member, &sender) != OLAF_CLAIMANT_OTHER) {
		sender.sequence = child->member.sequence;
		sender.flags = child->member.flags;
		child->member = sender;
		refused = 0;
	}
	olaf_member_close(&child->member);
	return refused;
}

/*
 * Does the message at hand come from another sender than the child whose rank it has? That one is refused,
 * and counted.
 */
static __always_inline int olaf_child_refuse(struct xdp_md *ctx, const struct olaf_arrival *a,
					     const struct olaf_round_message *m)
{
	struct olaf_child *child = olaf_child_at(m->job, m->rank);
	int reason;

	if (child && olaf_member_stands(ctx, a, &child->member))
		return 0;
	if (a->update.lanes <= olaf_cfg.max_lanes && olaf_udp_is_wrong(ctx)) {
		olaf_trouble_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
		return 1;
	}
	reason = olaf_child_bind(ctx);
	if (!reason)
		return 0;
	olaf_trouble_not_allowed(olaf_clamp(reason - 1, 0, OLAF_NOT_ALLOWED_REASONS - 1), a->now);
	return 1;
}

#endif /* OLAF_ROUND_CHILD_BPF_H */
