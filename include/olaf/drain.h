/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The token of the drain: what it is, and how long it may be on its way. What programs
 * and the loader, which shapes and tries the drain, must agree on.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_DRAIN_H
#define OLAF_DRAIN_H

#include <linux/types.h>

#include "olaf/layout.h"

#define OLAF_TOKEN_MIN_BYTES 128 /* the drain lets through so many every drain interval */
#define OLAF_TOKEN_MAX_TICKS 64 /* drain intervals that one turn may take */
#define OLAF_TOKEN_MAX_BYTES (OLAF_TOKEN_MAX_TICKS * OLAF_TOKEN_MIN_BYTES)

/* A token that needn't be back at once is away for no longer, or for one drain interval. */
#define OLAF_LONGEST_TURN_NS 6400000ULL

#define OLAF_TOKEN_OFFSET 12 /* in the frame: behind the MAC addresses */

/* Generations of no token. */
#define OLAF_KICK 0 /* a burst for an ACK (ack_window.bpf.h) */
#define OLAF_PROOF 0xffffffffU /* a frame by which attach tries the whole way of a token */

struct olaf_token {
	/* IPv4, so that the skb is one of a protocol that bpf_redirect_neigh() sends. */
	__be16 eth_proto_be;
	__u64 secret;
	__u32 generation;
} __attribute__((packed));
OLAF_LAST(olaf_token, 0, 14, eth_proto_be, secret, generation);

/* Drain intervals that the longest turn takes. */
static inline __u64 olaf_longest_ticks(__u64 drain_interval_ns)
{
	__u64 ticks = drain_interval_ns ? OLAF_LONGEST_TURN_NS / drain_interval_ns : 1;

	if (ticks < 1)
		return 1;
	return ticks < OLAF_TOKEN_MAX_TICKS ? ticks : OLAF_TOKEN_MAX_TICKS;
}

static inline __u64 olaf_longest_turn_ns(__u64 drain_interval_ns)
{
	return olaf_longest_ticks(drain_interval_ns) * drain_interval_ns;
}

#endif /* OLAF_DRAIN_H */
