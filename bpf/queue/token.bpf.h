/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The token: the one frame that circulates in the drain lane while updates wait.
 *
 * XDP can't originate a frame, so the token is made of an arriving one: its EtherType
 * and what follows are overwritten, and it is passed up to TC ingress, which redirects
 * it into the lane. No metadata is needed to know it (not every driver carries that):
 * its secret is random for each attach and never leaves the host.
 *
 * Its length is the tick: the lane's token bucket lets OLAF_TOKEN_MIN_BYTES through
 * every drain interval, so a longer token comes back later.
 */
#ifndef OLAF_TOKEN_BPF_H
#define OLAF_TOKEN_BPF_H

#include <linux/if_ether.h>

#include "bpf/config.bpf.h"
#include "olaf/lane.h"

#define OLAF_TOKEN_OFFSET 12 /* behind the MAC addresses */

/* The token is late when it hasn't come back this long after it should have. */
#define OLAF_TOKEN_GRACE_NS 20000000ULL

/* The wait of a token that is away for the longest turn. */
#define OLAF_TOKEN_LONGEST_WAIT 0x7fffffffffffULL

/* The generation of no token: tells a kick (ack_window.bpf.h). */
#define OLAF_KICK 0

struct olaf_token {
	/* IPv4, so that the skb is one of a protocol that bpf_redirect_neigh() sends. */
	__be16 eth_proto_be;
	__u64 secret;
	__u32 generation;
} __attribute__((packed));

static __always_inline void olaf_token_write(struct olaf_token *token, __u32 generation)
{
	token->eth_proto_be = bpf_htons(ETH_P_IP);
	token->secret = olaf_cfg.token_secret;
	token->generation = generation;
}

/* Drain intervals that a token is away for which should come back in `wait` nanoseconds. */
static __always_inline __u64 olaf_token_ticks(__u64 wait)
{
	__u64 interval = olaf_cfg.drain_interval_ns, longest = olaf_longest_ticks(interval);
	__u64 ticks;

	if (!interval || wait <= interval)
		return 1;
	ticks = (wait + interval - 1) / interval;
	return ticks < longest ? ticks : longest;
}

/* Its length. */
static __always_inline __u32 olaf_token_bytes(__u64 wait)
{
	return olaf_token_ticks(wait) * OLAF_TOKEN_MIN_BYTES;
}

/* When it is late: behind its turn, and what a busy machine may take besides. */
static __always_inline __u64 olaf_token_deadline(__u64 now, __u64 wait)
{
	return now + olaf_token_ticks(wait) * olaf_cfg.drain_interval_ns + OLAF_TOKEN_GRACE_NS;
}

#endif /* OLAF_TOKEN_BPF_H */
