/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Learning who belongs to a cluster, from the update at hand: where ACKs must go to
 * reach its worker.
 *
 * Nearly always the update says what is known already, and lately enough: a look at one
 * cache line, and nothing is written. Where it is only not lately enough, the time alone is,
 * seven times of eight. With --strict, strangers are refused here.
 */
#ifndef OLAF_LEARN_BPF_H
#define OLAF_LEARN_BPF_H

#include "bpf/ack/ack_counters.bpf.h"
#include "bpf/ack/members.bpf.h"
#include "bpf/ack/sender.bpf.h"

/* May this sender be the registered member? */
static __always_inline int olaf_member_binds(struct xdp_md *ctx, const struct olaf_arrival *a,
					     const struct olaf_member *member)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	return olaf_sender_is(data, end, a, member->addr_be, member->family) &&
	       (!(member->flags & OLAF_MEMBER_PORT_BOUND) ||
		member->port_be == olaf_sender_port(data, end, a));
}

/* Writes down what the update at hand says of its worker. Returns nothing of interest. */
__noinline int olaf_member_learn(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_member sender = {};
	struct olaf_member *member;
	enum olaf_claimant claimant;

	if (!a)
		return -1;
	member = olaf_member_at(a->update.cluster, a->update.worker);
	if (!member) {
		olaf_count_ack(unplaced);
		return -1;
	}
	if (olaf_member_touch(ctx, a, member))
		return 0;
	if (olaf_sender_read(ctx, a, &sender))
		return -1;
	if (!olaf_sender_is_reachable(&sender)) {
		olaf_count_ack(sources_refused);
		return -1;
	}
	/* First without opening it: who is refused shall keep nobody else out. */
	claimant = olaf_claimant(member, &sender);
	if (claimant == OLAF_CLAIMANT_OTHER) {
		olaf_count_ack(takeovers_refused);
		return -1;
	}
	if (claimant == OLAF_CLAIMANT_NEW && !olaf_roster_admits(a->update.cluster, a->now)) {
		olaf_count_ack(deferred);
		return -1;
	}
	/* Somebody else is at it, or was: the worker's next update will do. */
	if (!olaf_member_open(member))
		return -1;
	if (olaf_claimant(member, &sender) == claimant) {
		sender.sequence = member->sequence;
		sender.flags = member->flags;
		*member = sender;
	}
	olaf_member_close(member);
	olaf_roster_raise(a->update.cluster, a->update.worker);
	return 0;
}

static __always_inline void olaf_learn(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	struct olaf_member *member = olaf_member_at(a->update.cluster, a->update.worker);

	if (!member || !olaf_member_stands(ctx, a, member))
		olaf_member_learn(ctx);
}

/* --strict: is the sender a registered one? 0, or 1 + enum olaf_not_allowed. */
static __always_inline int olaf_refuse_stranger(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	struct olaf_member *member = olaf_member_at(a->update.cluster, a->update.worker);

	if (!member || !(READ_ONCE(member->flags) & OLAF_MEMBER_REGISTERED))
		return 1 + OLAF_NOT_ALLOWED_WORKER;
	return olaf_member_binds(ctx, a, member) ? 0 : 1 + OLAF_NOT_ALLOWED_ADDRESS;
}

#endif /* OLAF_LEARN_BPF_H */
