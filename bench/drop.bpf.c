// SPDX-License-Identifier: BSD-2-Clause
/* The floor: what a frame costs when nothing is done with it. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

__u64 parsed; /* one writer: the run's CPU */

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

/* On the way out: whoever sends is told that it was sent. */
SEC("tc")
int swallow(struct __sk_buff *skb)
{
	(void)skb;
	return TC_ACT_STOLEN;
}

SEC("xdp")
int parse_drop(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct olaf_header *olaf = (void *)(udp + 1);
	void *data_end = (void *)(long)ctx->data_end;

	if ((void *)(olaf + 1) > data_end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    udp->dest != bpf_htons(OLAF_DEFAULT_PORT) || olaf->magic_be != bpf_htons(OLAF_MAGIC))
		return XDP_PASS;
	parsed++;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
