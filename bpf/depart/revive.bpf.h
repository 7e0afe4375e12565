/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A lost token is replaced by any frame that passes the queue's device, either way.
 *
 * A token is lost where somebody takes the drain down, or a program before ours takes
 * frames away. An update that arrives is made a new one (ring.bpf.h); where none does,
 * the TC programs of the device look: a clone of the frame, with a token's bytes, enters
 * the drain's near end, where olaf_drain_kick() cuts it to a token.
 *
 * With an empty queue this costs one look at the ring.
 */
#ifndef OLAF_REVIVE_BPF_H
#define OLAF_REVIVE_BPF_H

#include "bpf/counters.bpf.h"
#include "bpf/depart/token.bpf.h"
#include "bpf/order/ring.bpf.h"

/*
 * Sends the clone. It comes in by the drain's near end rather than being sent there: no device
 * cuts it into segments or holds its length against the bucket. Returns -1 if the frame couldn't
 * be made what it was again, for want of memory: it must be dropped.
 */
static __always_inline int olaf_revive_by(struct __sk_buff *skb, struct olaf_ring *ring,
					  __u32 generation)
{
	struct olaf_token token, covered;

	olaf_token_write(&token, generation);
	if (bpf_skb_load_bytes(skb, OLAF_TOKEN_OFFSET, &covered, sizeof(covered)) ||
	    bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &token, sizeof(token), 0)) {
		olaf_token_refused(ring, generation);
		return 0;
	}
	if (bpf_clone_redirect(skb, olaf_cfg.drain_ifindex, BPF_F_INGRESS))
		olaf_token_refused(ring, generation);
	else
		olaf_count(tokens_launched);
	return bpf_skb_store_bytes(skb, OLAF_TOKEN_OFFSET, &covered, sizeof(covered), 0) ? -1 : 0;
}

/*
 * Something waits, and perhaps too long: a global function, verified once. A frame that is too short to
 * hold a token is left alone: a flood of such frames must not keep longer ones from replacing the token.
 */
__noinline int olaf_revive_late(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();
	__u64 now = bpf_ktime_get_ns();
	struct olaf_claim claim = {};

	if (!ring || skb->len < OLAF_TOKEN_OFFSET + sizeof(struct olaf_token) ||
	    !olaf_token_late(ring, now))
		return 0;
	olaf_ring_revive(ring, now, &claim);
	return claim.got & OLAF_GOT_TOKEN ? olaf_revive_by(skb, ring, claim.generation) : 0;
}

/* Looks after the token. Returns -1 if the frame is spoilt. */
static __always_inline int olaf_revive(struct __sk_buff *skb)
{
	struct olaf_ring *ring = olaf_the_ring();

	return ring && olaf_ring_waits(ring) ? olaf_revive_late(skb) : 0;
}

#endif /* OLAF_REVIVE_BPF_H */
