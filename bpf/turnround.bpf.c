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
#include "bpf/ack/ack_copy.bpf.h"
#include "bpf/ack/ack_stamp.bpf.h"
#include "bpf/ack/ack_window.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Is it to this queue, with a hop left to go? */
static __always_inline int olaf_is_to_us(const struct olaf_way *way)
{
	return way->family == olaf_cfg.upstream_family && way->dest_be == olaf_cfg.port_be &&
	       olaf_address_same(way->daddr_be, olaf_cfg.source_addr_be) && way->hops > 1;
}

/*
 * Generic XDP on this device that had to copy the skb forgot how long its MAC header is, so
 * that the skb begins behind it (as for olaf_token_read()). Begins it with that again, if it
 * may be an ACK: the rest is left as it is. Returns 0, or -1: none.
 */
static __always_inline int olaf_find_mac(struct __sk_buff *skb)
{
	struct ethhdr eth, first;
	__u32 udp_at = sizeof(struct ipv6hdr);
	__be16 source_be = 0;

	if (!(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE) || olaf_cfg.egress_ifindex != olaf_cfg.ifindex)
		return 0;
	if (bpf_skb_load_bytes_relative(skb, 0, &eth, sizeof(eth), BPF_HDR_START_MAC) ||
	    bpf_skb_load_bytes(skb, 0, &first, sizeof(first)))
		return -1;
	if (olaf_is_mac(first.h_dest, eth.h_dest) && olaf_is_mac(first.h_source, eth.h_source) &&
	    first.h_proto == eth.h_proto)
		return 0;
	if (eth.h_proto == bpf_htons(ETH_P_IP))
		udp_at = 4 * (first.h_dest[0] & 0xf); /* IHL */
	if (bpf_skb_load_bytes(skb, udp_at, &source_be, sizeof(source_be)) ||
	    source_be != olaf_cfg.upstream_port_be || bpf_skb_change_head(skb, sizeof(eth), 0))
		return -1;
	return bpf_skb_store_bytes(skb, 0, &eth, sizeof(eth), 0);
}

SEC("tc")
int olaf_ack_return(struct __sk_buff *skb)
{
	struct olaf_ack *ack = olaf_ack_here();

	if (!ack || ack->copying || olaf_find_mac(skb) ||
	    !olaf_ack_parse(skb, ack, olaf_cfg.upstream_port_be) ||
	    olaf_way_read(skb, ack, &ack->origin) || !olaf_is_to_us(&ack->origin))
		return TC_ACT_UNSPEC;
	if (!olaf_address_same(ack->origin.saddr_be, olaf_cfg.upstream_addr_be)) {
		olaf_count_ack(foreign);
		return TC_ACT_UNSPEC;
	}
	olaf_count_ack(recognised);
	if (olaf_cfg.window && olaf_window_acked(skb))
		return TC_ACT_SHOT;
	olaf_ack_stamp(skb, ack);
	if (olaf_forget_device_sum(skb))
		return TC_ACT_UNSPEC;
	olaf_copies_make(skb, ack, 1);
	return ack->turned || ack->broken ? TC_ACT_STOLEN : TC_ACT_UNSPEC;
}
