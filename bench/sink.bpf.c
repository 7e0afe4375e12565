// SPDX-License-Identifier: BSD-2-Clause
/*
 * The far end: counts what arrives, checks it, drops it. The first and the last
 * lane of every frame must be exact for its cluster and count; every 256th frame
 * of Olaf's is checked as a whole by its checksum lane.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config;

#include "bench/stamp.bpf.h"

/* One writer: the benchmark keeps to one CPU. */
__u64 frames, updates, wrong, verified;
__u64 frames_of[16]; /* of cluster & 15 */

static __always_inline bool checksum_holds(const __u64 *lanes)
{
	__u64 sum = 0;

	for (int i = 0; i < BENCH_LANES - 1; i++)
		sum += (2 * i + 1) * lanes[i];
	return sum == lanes[BENCH_LANES - 1];
}

/* XAgg's elements wrap separately; each of its frames carries config.workers updates. */
static __always_inline bool xagg_lane_exact(__u64 lane, __u64 one)
{
	return (__u32)lane == (__u32)one * config.workers &&
	       (__u32)(lane >> 32) == (__u32)(one >> 32) * config.workers;
}

static __always_inline bool exact(const struct bench_view *v, __u32 cluster, __u32 count)
{
	__u64 first = bench_lane(0) + cluster, last = config.checksum + cluster;

	if (config.xagg)
		return xagg_lane_exact(v->lanes[0], first) &&
		       xagg_lane_exact(v->lanes[BENCH_LANES - 1], last);
	return v->lanes[0] == first * count && v->lanes[BENCH_LANES - 1] == last * count;
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	__u32 cluster, count;
	struct bench_view v;

	/* The network's own chatter (neighbour discovery) is not ours to judge. */
	if (!view(ctx, &v))
		return XDP_DROP;
	if (!config.xagg && v.olaf->magic_be != bpf_htons(OLAF_MAGIC))
		return XDP_DROP;
	cluster = config.xagg ? v.xagg->idx : bpf_ntohl(v.olaf->cluster_be);
	count = config.xagg ? config.workers : bpf_ntohl(v.olaf->count_be);
	updates += count;
	frames_of[cluster & 15]++;
	wrong += !exact(&v, cluster, count);
	if (!(frames++ & 255) && !config.xagg) {
		verified++;
		wrong += !checksum_holds(v.lanes);
	}
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
