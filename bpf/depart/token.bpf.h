/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The token: the one frame that circulates in the drain while updates wait.
 *
 * XDP can't originate a frame, so the token is made of an arriving one: its EtherType
 * and what follows are overwritten, and it is passed up to TC ingress, which redirects
 * it into the drain. No metadata is needed to know it (not every driver carries that):
 * its secret is random for each attach and never leaves the host.
 *
 * Its length is the tick: the drain's token bucket lets OLAF_TOKEN_MIN_BYTES through
 * every drain interval, so a longer token comes back later.
 */
#ifndef OLAF_TOKEN_BPF_H
#define OLAF_TOKEN_BPF_H

#include <linux/if_ether.h>

#include "bpf/order/ring.bpf.h"

static __always_inline void olaf_token_write(struct olaf_token *token, __u32 generation)
{
	token->eth_proto_be = bpf_htons(ETH_P_IP);
	token->secret = olaf_cfg.token_secret;
	token->generation = generation;
}

/*
 * Reads the token of a frame; 0 if it is one of ours. From the MAC header, which isn't
 * always where the skb begins: generic XDP that had to copy it forgets its mac_len.
 */
static __always_inline int olaf_token_read(struct __sk_buff *skb, struct olaf_token *token)
{
	if (bpf_skb_load_bytes_relative(skb, OLAF_TOKEN_OFFSET, token, sizeof(*token),
					BPF_HDR_START_MAC))
		return -1;
	return token->eth_proto_be == bpf_htons(ETH_P_IP) && olaf_cfg.token_secret &&
			       token->secret == olaf_cfg.token_secret ?
		       0 :
		       -1;
}

/* Length of a token that should come back in `wait` nanoseconds. */
static __always_inline __u32 olaf_token_bytes(__u64 wait)
{
	return olaf_token_ticks(wait) * OLAF_TOKEN_MIN_BYTES;
}

#endif /* OLAF_TOKEN_BPF_H */
