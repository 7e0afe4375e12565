// SPDX-License-Identifier: BSD-2-Clause
/*
 * The traffic source: run by BPF_PROG_TEST_RUN with live frames, it makes of
 * each frame the next update, round robin over the clusters and then over their
 * workers, or at random, and sends it into the device under test.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config = { .lanes = BENCH_LANES }; /* what it is without a benchmark */

#include "bench/stamp.bpf.h"

/* Key 0: the device that frames are sent out of. Written before the first run. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} output SEC(".maps");

/* Key 0: the frame as it is to be sent; see `pristine`. Written before the first run. */
struct template
{
	__u8 bytes[BENCH_MAX_FRAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct template);
} templates SEC(".maps");

/* The next update. One writer: a run stays on its CPU. */
__u32 cluster, worker, sequence, turn;
__u64 generated;
__u64 refilled;
__u64 next_ns; /* when it is due */

/*
 * Whether the next update is due: what isn't is dropped. After a pause of this CPU at most 64 are
 * made up for, so that a pause is no burst.
 */
static __always_inline bool due(__u64 now)
{
	if (!config.interval_ns)
		return true;
	if (now < next_ns)
		return false;
	next_ns += config.interval_ns;
	if (next_ns + 64 * config.interval_ns < now)
		next_ns = now;
	return true;
}

/* A sequence number for all workers: each one's grows. */
static __always_inline void next_at_random(void)
{
	__u32 dice = bpf_get_prandom_u32();

	cluster = dice % config.clusters;
	worker = (dice >> 16) % config.workers;
	sequence++;
}

/* Clusters in turn, a stride apart: it has no divisor in common with their number. */
static __always_inline void next(void)
{
	if (config.shuffled)
		return next_at_random();
	cluster += config.stride;
	if (cluster >= config.clusters)
		cluster -= config.clusters;
	if (++turn < config.clusters)
		return;
	turn = 0;
	if (++worker >= config.workers) {
		worker = 0;
		sequence++;
	}
}

/*
 * The kernel recycles the pages of live frames without restoring their bytes, so
 * a frame that left as an aggregate comes back as one, and one that left alone with the UDP
 * checksum that the queue wrote into it.
 */
static __always_inline bool pristine(struct xdp_md *ctx)
{
	struct bench_view v;

	return view(ctx, &v) && !*v.udp_checksum && v.lanes[1] == bench_lane_of(config.narrow, 1) &&
	       (config.xagg || v.olaf->count_be == bpf_htonl(1));
}

static __always_inline bool tell_time(struct xdp_md *ctx, __u64 now)
{
	struct bench_view v;

	if (!config.stamped)
		return true;
	if (!view(ctx, &v))
		return false;
	if (config.xagg)
		v.xagg->sent_ns = now;
	else
		v.olaf->generated_ns_be = bpf_cpu_to_be64(now);
	return true;
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	__u64 now = 0;
	__u32 zero = 0;

	if (config.stamped || config.interval_ns)
		now = bpf_ktime_get_ns();
	if (!due(now))
		return XDP_DROP;
	if (!pristine(ctx)) {
		struct template *t = bpf_map_lookup_elem(&templates, &zero);
		__u32 length = config.lanes * 8;

		length += config.xagg ? BENCH_XAGG_PAYLOAD : BENCH_OLAF_PAYLOAD;

		if (!t || length > BENCH_MAX_FRAME || bpf_xdp_store_bytes(ctx, 0, t->bytes, length))
			return XDP_ABORTED;
		refilled++;
	}
	if (!stamp(ctx, config.first + cluster, worker, sequence) || !tell_time(ctx, now))
		return XDP_ABORTED;
	generated++;
	next();
	return bpf_redirect_map(&output, 0, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
