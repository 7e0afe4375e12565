// SPDX-License-Identifier: BSD-2-Clause
/*
 * The least that a queue can be which folds: what arrives is added to its cluster's
 * aggregate, and with each `fold`-th arrival the aggregate leaves whose first update came
 * first. Nothing else: no lock, clock, rule, member, policy, age, header kept, and one CPU.
 *
 * A queue of 64-bit lanes that keeps this order hardly touches less memory. So its updates/s over
 * XAgg's, whose aggregate leaves with the frame that was just added to it, are a bound.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config = { .lanes = BENCH_LANES };

#include "bench/stamp.bpf.h"

/* Set before loading. */
const volatile __u32 parent_ifindex;
const volatile __u32 fold = 1; /* updates that arrive for each that leaves */

#define LEAST_PLACES (1u << 17) /* at least BENCH_MAX_CLUSTERS */

struct least_aggregate {
	__u64 count; /* updates in it; 0: it waits for none */
	__u64 lanes[BENCH_LANES];
};

/* One writer of everything: the benchmark's CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_MAX_CLUSTERS);
	__type(key, __u32);
	__type(value, struct least_aggregate);
} aggregates SEC(".maps");

/* Clusters that wait, the oldest at `left`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LEAST_PLACES);
	__type(key, __u32);
	__type(value, __u32);
} order SEC(".maps");

__u64 came, left; /* positions in the order */
__u64 taken;	  /* updates */
__u64 departed;	  /* updates in what has left */

static __always_inline __u32 *place_at(__u64 position)
{
	__u32 key = position & (LEAST_PLACES - 1);

	return bpf_map_lookup_elem(&order, &key);
}

/* False if there is no such cluster. */
static __always_inline bool add(const struct bench_view *v)
{
	__u32 cluster = bpf_ntohl(v->olaf->cluster_be);
	struct least_aggregate *aggregate = bpf_map_lookup_elem(&aggregates, &cluster);
	__u32 *place;

	if (!aggregate)
		return false;
	taken++;
	if (aggregate->count++) {
		for (int i = 0; i < BENCH_LANES; i++)
			aggregate->lanes[i] += v->lanes[i];
		return true;
	}
	for (int i = 0; i < BENCH_LANES; i++)
		aggregate->lanes[i] = v->lanes[i];
	place = place_at(came++);
	if (place)
		*place = cluster;
	return true;
}

/* Puts the oldest aggregate into the frame. False if none waits. */
static __always_inline bool depart(const struct bench_view *v)
{
	struct least_aggregate *aggregate;
	__u32 *place, cluster;

	if (left == came)
		return false;
	place = place_at(left++);
	if (!place)
		return false;
	cluster = *place;
	aggregate = bpf_map_lookup_elem(&aggregates, &cluster);
	if (!aggregate)
		return false;
	v->olaf->cluster_be = bpf_htonl(cluster);
	v->olaf->count_be = bpf_htonl(aggregate->count);
	for (int i = 0; i < BENCH_LANES; i++)
		v->lanes[i] = aggregate->lanes[i];
	departed += aggregate->count;
	aggregate->count = 0;
	return true;
}

SEC("xdp")
int least(struct xdp_md *ctx)
{
	struct bench_view v;

	if (!view(ctx, &v) || v.olaf->magic_be != bpf_htons(OLAF_MAGIC))
		return XDP_PASS;
	if (!add(&v) || taken % fold || !depart(&v))
		return XDP_DROP;
	return bpf_redirect(parent_ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
