/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small frames by which the drain asks whether a way out is there. No payload of ours
 * is ever parked in the kernel's neighbour queue, which drops what is too much in silence.
 *
 *   the kernel knows no address of the next hop    an empty packet to the destination, with
 *                                                  one hop to live, by the kernel's neighbour
 *                                                  code: that asks for the address
 *   it knows one that is some seconds old          an ARP request or a Neighbour Solicitation
 *                                                  of our own: the answer corrects the kernel
 *   the output device refuses frames               a frame that no bridge sends on, to see
 *                                                  whether it takes frames again
 */
#ifndef OLAF_SOLICIT_BPF_H
#define OLAF_SOLICIT_BPF_H

#include "bpf/way/solicitation.bpf.h"
#include "bpf/way/wayout.bpf.h"

/* Asks the next hop for its address, by a frame of our own: a clone of the skb leaves. */
static __always_inline void olaf_ask_next_hop(struct __sk_buff *skb,
					      const struct olaf_nexthop *next)
{
	union olaf_solicitation frame = {};

	if (next->via_family == 4)
		olaf_write_arp(&frame.arp, next);
	else
		olaf_write_ns(&frame.ns, next);
	if (!olaf_solicit_put(skb, &frame) && !bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0))
		olaf_count(hops_asked);
}

/* Asks the output device whether it takes frames again. */
static __always_inline void olaf_probe_gate(struct __sk_buff *skb, __u64 now)
{
	union olaf_solicitation frame = {};

	olaf_write_probe(&frame.eth);
	olaf_count(gate_probes);
	if (!olaf_solicit_put(skb, &frame) && !bpf_clone_redirect(skb, olaf_cfg.egress_ifindex, 0))
		olaf_gate_probed(now);
}

#endif /* OLAF_SOLICIT_BPF_H */
