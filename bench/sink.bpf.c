// SPDX-License-Identifier: BSD-2-Clause
/*
 * The far end: counts what arrives, checks it, drops it. The first and the last
 * lane of every frame must be exact for its cluster and count; every 256th frame
 * of Olaf's is checked as a whole by its checksum lane.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config = { .lanes = BENCH_LANES }; /* what it is without a benchmark */

#include "bench/stamp.bpf.h"

/* One writer each: the CPU whose it is. */
struct bench_arrived arrived[BENCH_MAX_CPUS];

/* Of stamped frames only. One writer: they arrive on one CPU. */
__u64 latency[BENCH_BUCKETS];
__u64 folds[BENCH_FOLDS]; /* frames by the updates in them */

/* By cluster, of stamped frames only. One writer, as above. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before loading */
	__type(key, __u32);
	__type(value, struct bench_age);
} ages SEC(".maps");

static __always_inline bool checksum_holds(const __u64 *lanes)
{
	__u32 last = config.lanes - 1;
	__u64 sum = 0;

	for (__u32 i = 0; i < last; i++)
		sum += (2 * i + 1) * lanes[i];
	return sum == lanes[last];
}

/* XAgg's elements wrap separately; each of its frames carries config.workers updates. */
static __always_inline bool xagg_lane_exact(__u64 lane, __u64 one)
{
	return (__u32)lane == (__u32)one * config.workers &&
	       (__u32)(lane >> 32) == (__u32)(one >> 32) * config.workers;
}

static __always_inline bool exact(const struct bench_view *v, __u32 cluster, __u32 count)
{
	__u64 first = bench_lane_of(config.narrow, 0) + cluster, last = config.checksum + cluster;
	__u32 end = config.lanes - 1;

	if (config.xagg)
		return xagg_lane_exact(v->lanes[0], first) && xagg_lane_exact(v->lanes[end], last);
	return v->lanes[0] == first * count && v->lanes[end] == last * count;
}

/* The sawtooth of the cluster's age, up to this arrival. */
static __always_inline void measure_age(__u32 cluster, __u64 now_us, __u64 generated_us)
{
	struct bench_age *age = bpf_map_lookup_elem(&ages, &cluster);
	__u64 low, high;

	if (!age)
		return;
	if (age->since_us) {
		low = age->since_us - age->generated_us;
		high = now_us - age->generated_us;
		age->area += (high * high - low * low) / 2;
		age->span_us += now_us - age->since_us;
		age->peaks_us += high;
		age->arrivals++;
	}
	age->since_us = now_us;
	if (generated_us > age->generated_us)
		age->generated_us = generated_us;
}

static __always_inline void measure(const struct bench_view *v, __u32 cluster, __u32 count)
{
	__u64 sent = config.xagg ? v->xagg->sent_ns : bpf_be64_to_cpu(v->olaf->generated_ns_be);
	__u64 now = bpf_ktime_get_ns();
	__u32 bucket = bench_bucket(now - sent);

	/* Linux 6.1 doesn't follow the bound through the powers, and clang would leave out the mask. */
	asm volatile("" : "+r"(bucket));
	latency[bucket & (BENCH_BUCKETS - 1)]++;
	if (count >= BENCH_FOLDS)
		count = BENCH_FOLDS - 1;
	asm volatile("" : "+r"(count)); /* as above */
	folds[count & (BENCH_FOLDS - 1)]++;
	measure_age(cluster, now / 1000, sent / 1000);
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	struct bench_arrived *mine = &arrived[bpf_get_smp_processor_id() & (BENCH_MAX_CPUS - 1)];
	__u32 cluster, count;
	struct bench_view v;

	/* The kernel's own chatter (neighbour discovery) is not ours to judge. */
	if (!view(ctx, &v))
		return XDP_DROP;
	if (!config.xagg && v.olaf->magic_be != bpf_htons(OLAF_MAGIC))
		return XDP_DROP;
	cluster = config.xagg ? v.xagg->idx : bpf_ntohl(v.olaf->cluster_be);
	count = config.xagg ? config.workers : bpf_ntohl(v.olaf->count_be);
	mine->updates += count;
	mine->wrong += !exact(&v, cluster, count);
	if (!(mine->frames++ & 255) && !config.xagg) {
		mine->verified++;
		mine->wrong += !checksum_holds(v.lanes);
	}
	if (config.stamped)
		measure(&v, cluster, count);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
