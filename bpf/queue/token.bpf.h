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

#define OLAF_TOKEN_OFFSET 12 /* behind the MAC addresses */
#define OLAF_TOKEN_MIN_BYTES 128 /* one drain interval */
#define OLAF_TOKEN_MAX_BYTES 8192 /* 64 drain intervals */

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

/* Length of a token that should come back in `wait` nanoseconds. */
static __always_inline __u32 olaf_token_bytes(__u64 wait)
{
	__u64 interval = olaf_cfg.drain_interval_ns;
	__u64 ticks;

	if (!interval || wait <= interval)
		return OLAF_TOKEN_MIN_BYTES;
	ticks = (wait + interval - 1) / interval;
	if (ticks > OLAF_TOKEN_MAX_BYTES / OLAF_TOKEN_MIN_BYTES)
		return OLAF_TOKEN_MAX_BYTES;
	return ticks * OLAF_TOKEN_MIN_BYTES;
}

#endif /* OLAF_TOKEN_BPF_H */
