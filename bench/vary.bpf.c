// SPDX-License-Identifier: BSD-2-Clause
/*
 * BPF_PROG_TEST_RUN repeats one frame. This program stands in front of the
 * program under test, gives the frame another cluster each time, in random
 * order, and tail-calls. Every program that is compared with another is called
 * through it, so its own cost (measured as a row of its own) cancels or counts
 * against the faster one.
 *
 * Loaded once for each program under test, with that program's frags flag: a
 * program array takes only programs that agree in it.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config = { .lanes = BENCH_LANES }; /* what it is without a benchmark */

#include "bench/stamp.bpf.h"

/* Key 0: the program under test. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* XAgg's Agg_array, when that is under test: the same map, not a copy. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BENCH_MAX_CLUSTERS);
	__type(key, __u32);
	__type(value, struct xagg_aggregate);
} agg_array SEC(".maps");

/* One writer: the run's CPU. */
__u32 state = 2463534242u;
__u32 sequence;

static __always_inline __u32 random_cluster(void)
{
	__u32 x = state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	state = x;
	return ((__u64)x * config.clusters) >> 32;
}

SEC("xdp")
int vary(struct xdp_md *ctx)
{
	__u32 cluster = random_cluster();

	/* XAgg drops a second fragment from one child: forget that there was a first. */
	if (config.xagg) {
		struct xagg_aggregate *agg = bpf_map_lookup_elem(&agg_array, &cluster);

		if (agg)
			agg->bitmap = 0;
	}
	if (!stamp(ctx, cluster, sequence & 1, sequence))
		return XDP_ABORTED;
	sequence++;
	bpf_tail_call(ctx, &target, 0);
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
