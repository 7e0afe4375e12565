// SPDX-License-Identifier: BSD-2-Clause
/*
 * The traffic source: run by BPF_PROG_TEST_RUN with live frames, it makes of
 * each frame the next update, round robin over the clusters and then over their
 * workers, and sends it into the device under test.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "bench/frame.h"

const volatile struct bench_config config;

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
	__u8 bytes[BENCH_OLAF_FRAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct template);
} templates SEC(".maps");

/* The next update. One writer: a run stays on its CPU. */
__u32 cluster, worker, sequence;
__u64 generated;
__u64 refilled;

/*
 * The kernel recycles the pages of live frames without restoring their bytes, so
 * a frame that left as an aggregate comes back as one.
 */
static __always_inline bool pristine(struct xdp_md *ctx)
{
	struct bench_view v;

	return view(ctx, &v) && v.lanes[1] == bench_lane(1) &&
	       (config.xagg || v.olaf->count_be == bpf_htonl(1));
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	__u32 zero = 0;

	if (!pristine(ctx)) {
		struct template *t = bpf_map_lookup_elem(&templates, &zero);
		__u32 length = config.xagg ? BENCH_XAGG_FRAME : BENCH_OLAF_FRAME;

		if (!t || bpf_xdp_store_bytes(ctx, 0, t->bytes, length))
			return XDP_ABORTED;
		refilled++;
	}
	if (!stamp(ctx, cluster, worker, sequence))
		return XDP_ABORTED;
	generated++;
	if (++cluster >= config.clusters) {
		cluster = 0;
		if (++worker >= config.workers) {
			worker = 0;
			sequence++;
		}
	}
	return bpf_redirect_map(&output, 0, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
