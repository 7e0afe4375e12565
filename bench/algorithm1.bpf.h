/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XAgg's Algorithm 1, "XDP-Based Aggregator Logic", as printed, up to what becomes of a frame.
 * A plain loop, plain 32-bit additions, no lock, no counters, as in the paper,
 * built with the flags of Olaf's own programs (-O2 -mcpu=v3, cmake/bpf.cmake).
 * The numbers in the comments are the algorithm's lines.
 *
 * The paper resets the aggregates "after an epoch", out of the algorithm. Here
 * the reset rides in the loop that copies the aggregate into the frame, so that
 * a run goes on for ever; that is the cheapest place for it.
 */
#ifndef OLAF_BENCH_ALGORITHM1_BPF_H
#define OLAF_BENCH_ALGORITHM1_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

/* Agg_array. One writer: the benchmark runs on one CPU, and the paper orders nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_MAX_CLUSTERS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, BENCH_XAGG_BYTES(BENCH_XAGG_ELEMENTS)); /* as many as there are */
} agg_array SEC(".maps");

/* What became of a frame. */
enum algorithm1 {
	ALGORITHM1_FOREIGN, /* it is none of XAgg's */
	ALGORITHM1_TAKEN, /* it was added, or was there already */
	ALGORITHM1_FULL, /* it carries the aggregate away */
};

/* `elements` is known to the compiler, as in the paper. */
static __always_inline enum algorithm1 algorithm1(void *data, void *data_end, __u32 children,
						  const __u32 elements)
{
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct xagg_header *pkt = (void *)(udp + 1);
	__s32 *grad = (void *)(pkt + 1);
	struct xagg_aggregate *agg;
	__u32 idx;

	if ((void *)(grad + elements) > data_end)
		return ALGORITHM1_FOREIGN;
	if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
	    udp->dest != bpf_htons(BENCH_XAGG_PORT))
		return ALGORITHM1_FOREIGN;

	idx = pkt->idx;
	agg = bpf_map_lookup_elem(&agg_array, &idx); /* 5 */
	if (!agg)
		return ALGORITHM1_TAKEN;
	if (agg->bitmap == (agg->bitmap | pkt->id))   /* 6 */
		return ALGORITHM1_TAKEN;	      /* 7 */
	agg->bitmap += pkt->id;			      /* 8 */
	agg->counter++;				      /* 9 */
	for (int i = 0; i < (int)elements; i++)	      /* 10 */
		agg->grad[i] += grad[i];	      /* 11 */
	if (agg->counter != children)		      /* 12 */
		return ALGORITHM1_TAKEN;

	for (int i = 0; i < (int)elements; i++) { /* 13 */
		grad[i] = agg->grad[i];
		agg->grad[i] = 0;
	}
	agg->bitmap = 0;
	agg->counter = 0;
	return ALGORITHM1_FULL;
}

#endif /* OLAF_BENCH_ALGORITHM1_BPF_H */
