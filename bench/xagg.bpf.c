// SPDX-License-Identifier: BSD-2-Clause
/*
 * XAgg's Algorithm 1, "XDP-Based Aggregator Logic", as printed: the baseline.
 * A plain loop, plain 32-bit additions, no lock, no counters, as in the paper,
 * built with the flags of Olaf's own programs (-O2 -mcpu=v3, cmake/bpf.cmake).
 * The numbers in the comments are the algorithm's lines.
 *
 * The paper resets the aggregates "after an epoch", out of the algorithm. Here
 * the reset rides in the loop that copies the aggregate into the frame, so that
 * a run goes on for ever; that is the cheapest place for it.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

/* Set before loading. */
const volatile struct {
	__u32 children;	      /* n */
	__u32 parent_ifindex; /* where a full aggregate goes; 0: back where it came from */
	__u32 elements;	      /* of a fragment: 32, 64, 128, 256, 320 or 768 */
} config = {.children = 3, .elements = BENCH_XAGG_ELEMENTS};

/* Agg_array. One writer: the benchmark runs on one CPU, and the paper orders nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_MAX_CLUSTERS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, BENCH_XAGG_BYTES(BENCH_XAGG_ELEMENTS)); /* as many as there are */
} agg_array SEC(".maps");

/* Copied for each number of elements, so that the compiler knows it, as in the paper. */
static __always_inline int algorithm1(struct xdp_md *ctx, const __u32 elements)
{
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct xagg_header *pkt = (void *)(udp + 1);
	__s32 *grad = (void *)(pkt + 1);
	void *data_end = (void *)(long)ctx->data_end;
	struct xagg_aggregate *agg;
	__u32 idx;

	if ((void *)(grad + elements) > data_end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    udp->dest != bpf_htons(BENCH_XAGG_PORT))
		return XDP_PASS;

	idx = pkt->idx;
	agg = bpf_map_lookup_elem(&agg_array, &idx); /* 5 */
	if (!agg)
		return XDP_DROP;
	if (agg->bitmap == (agg->bitmap | pkt->id))   /* 6 */
		return XDP_DROP;		      /* 7 */
	agg->bitmap += pkt->id;			      /* 8 */
	agg->counter++;				      /* 9 */
	for (int i = 0; i < (int)elements; i++)	      /* 10 */
		agg->grad[i] += grad[i];	      /* 11 */
	if (agg->counter != config.children)	      /* 12 */
		return XDP_DROP;

	for (int i = 0; i < (int)elements; i++) { /* 13 */
		grad[i] = agg->grad[i];
		agg->grad[i] = 0;
	}
	agg->bitmap = 0;
	agg->counter = 0;
	if (config.parent_ifindex)
		return bpf_redirect(config.parent_ifindex, 0);
	return XDP_TX;
}

SEC("xdp")
int xagg(struct xdp_md *ctx)
{
	/* Known before loading: the kernel leaves out the others. */
	switch (config.elements) {
	case 32:
		return algorithm1(ctx, 32);
	case 64:
		return algorithm1(ctx, 64);
	case 128:
		return algorithm1(ctx, 128);
	case 256:
		return algorithm1(ctx, 256);
	case 320:
		return algorithm1(ctx, 320);
	case 768:
		return algorithm1(ctx, 768);
	}
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
