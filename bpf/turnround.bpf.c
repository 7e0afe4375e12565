// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The way back from an upstream server: TC ingress of the device that it is reached by.
 *
 *   ACK from it to us? -> tell the window -> stamp the queue's state
 *                                         -> out to its worker, or to all
 *
 * The server knows this host alone, so workers' addresses are those that the queue has
 * learnt. Everything else passes untouched, and later filters still run; so does an ACK
 * that is for nobody we know.
 */
#include "ack_copy.bpf.h"
#include "ack_stamp.bpf.h"
#include "ack_window.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int olaf_is_address(const __be32 addr_be[4], const volatile __be32 *ours_be)
{
	return addr_be[0] == ours_be[0] && addr_be[1] == ours_be[1] && addr_be[2] == ours_be[2] &&
	       addr_be[3] == ours_be[3];
}

/* Is it from the upstream server to this queue, with a hop left to go? */
static __always_inline int olaf_is_from_upstream(const struct olaf_way *way)
{
	return way->family == olaf_cfg.upstream_family && way->dest_be == olaf_cfg.port_be &&
	       olaf_is_address(way->saddr_be, olaf_cfg.upstream_addr_be) &&
	       olaf_is_address(way->daddr_be, olaf_cfg.source_addr_be) && way->hops > 1;
}

SEC("tc")
int olaf_ack_return(struct __sk_buff *skb)
{
	struct olaf_ack *ack = olaf_ack_here();

	if (!ack || ack->copying || !olaf_ack_parse(skb, ack, olaf_cfg.upstream_port_be) ||
	    olaf_way_read(skb, ack, &ack->origin) || !olaf_is_from_upstream(&ack->origin))
		return TC_ACT_UNSPEC;
	olaf_count_ack(recognised);
	if (olaf_cfg.window && olaf_window_acked(skb))
		return TC_ACT_SHOT;
	olaf_ack_stamp(skb, ack);
	if (olaf_forget_device_sum(skb))
		return TC_ACT_UNSPEC;
	olaf_copies_make(skb, ack, 1);
	return ack->copies || ack->broken ? TC_ACT_STOLEN : TC_ACT_UNSPEC;
}
