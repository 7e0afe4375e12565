// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way back: TC egress of the device that faces the workers.
 *
 *   a lost token? -> launch another
 *   ACK of our server's? -> tell the window -> stamp the queue's state
 *                                           -> for every worker? copy it to each
 *
 * Everything else passes untouched, and later filters still run.
 */
#include "bpf/ack/ack_copy.bpf.h"
#include "bpf/ack/ack_source.bpf.h"
#include "bpf/ack/ack_stamp.bpf.h"
#include "bpf/ack/ack_window.bpf.h"
#include "bpf/depart/revive.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Is it the frame by which attach tries a token's way? Its length first: all frames pass here. */
static __always_inline int olaf_is_proof(struct __sk_buff *skb)
{
	struct olaf_token token;

	return skb->len == OLAF_TOKEN_MIN_BYTES && !olaf_token_read(skb, &token) &&
	       token.generation == OLAF_PROOF;
}

SEC("tc")
int olaf_egress(struct __sk_buff *skb)
{
	struct olaf_ack *ack = olaf_ack_here();

	if (!ack || ack->copying)
		return TC_ACT_UNSPEC;
	if (olaf_is_proof(skb))
		return bpf_redirect(olaf_cfg.ifindex, BPF_F_INGRESS);
	if (olaf_revive(skb))
		return TC_ACT_SHOT;
	if (!olaf_ack_parse(skb, ack, olaf_cfg.port_be))
		return TC_ACT_UNSPEC;
	if (olaf_ack_is_foreign(bpf_ntohl(ack->message.cluster_be),
				bpf_ntohl(ack->message.worker_be))) {
		olaf_count_ack(foreign);
		return TC_ACT_UNSPEC;
	}
	olaf_count_ack(recognised);
	/* ACKs of an upstream server told the window where they came in: turnround.bpf.c. */
	if (olaf_cfg.window && olaf_cfg.deliver != OLAF_DELIVER_UPSTREAM && olaf_window_acked(skb))
		return TC_ACT_SHOT;
	olaf_ack_stamp(skb, ack);
	return olaf_ack_copy(skb, ack);
}
