// SPDX-License-Identifier: BSD-2-Clause
/* XAgg's Algorithm 1 in XDP: the baseline. A full aggregate leaves in the frame that completed it. */
#include "bench/algorithm1.bpf.h"

/* Set before loading. */
const volatile struct {
	__u32 children;	      /* n */
	__u32 parent_ifindex; /* where a full aggregate goes; 0: back where it came from */
	__u32 elements;	      /* of a fragment: 32, 64, 128, 256, 320 or 768 */
} config = {.children = 3, .elements = BENCH_XAGG_ELEMENTS};

/* Copied for each number of elements, so that the compiler knows it. */
static __always_inline int verdict(struct xdp_md *ctx, const __u32 elements)
{
	switch (algorithm1((void *)(long)ctx->data, (void *)(long)ctx->data_end, config.children,
			   elements)) {
	case ALGORITHM1_FOREIGN:
		return XDP_PASS;
	case ALGORITHM1_TAKEN:
		return XDP_DROP;
	case ALGORITHM1_FULL:
		break;
	}
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
		return verdict(ctx, 32);
	case 64:
		return verdict(ctx, 64);
	case 128:
		return verdict(ctx, 128);
	case 256:
		return verdict(ctx, 256);
	case 320:
		return verdict(ctx, 320);
	case 768:
		return verdict(ctx, 768);
	}
	return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
