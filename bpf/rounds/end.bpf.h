/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of the frame at hand once its message is done with: an XDP verdict. */
#ifndef OLAF_ROUND_END_BPF_H
#define OLAF_ROUND_END_BPF_H

#include "bpf/rounds/frames.bpf.h"
#include "bpf/way/sent.bpf.h"

/*
 * Sends the frame, which holds no update of the queue's, out of the device again. Where departures
 * leave by the same device and in the same way, the frame is among those of their batches.
 */
static __always_inline int olaf_send_back(struct xdp_md *ctx)
{
	int skb_mode = olaf_cfg.flags & OLAF_CONFIG_SKB_MODE;
	int redirects = !skb_mode && (olaf_cfg.flags & OLAF_CONFIG_BACK_BY_REDIRECT);

	if (olaf_cfg.egress_ifindex == olaf_cfg.ifindex && (skb_mode || redirects))
		olaf_sent_note(ctx, 0);
	return redirects ? bpf_redirect(olaf_cfg.ifindex, 0) : XDP_TX;
}

/* The frame's message was met as `act` says: it leaves, and carries what it can. */
static __always_inline int olaf_round_end(struct xdp_md *ctx, const struct olaf_arrival *a,
					  struct olaf_round_message *m, struct olaf_job *job,
					  int act)
{
	if (act == OLAF_ROUND_RIDE)
		act = olaf_carry(ctx, a, m, job);
	if (act == OLAF_ROUND_TO_TC)
		return XDP_PASS;
	return act == OLAF_ROUND_SEND ? olaf_send_back(ctx) : XDP_DROP;
}

#endif /* OLAF_ROUND_END_BPF_H */
