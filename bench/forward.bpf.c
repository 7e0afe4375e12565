// SPDX-License-Identifier: BSD-2-Clause
/* No aggregation: each frame goes on as it came. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

/* Where to. Set before loading. */
const volatile __u32 parent_ifindex;

/* One writer each: the CPU whose it is. */
struct bench_arrived forwarded[BENCH_MAX_CPUS];

SEC("xdp")
int forward(struct xdp_md *ctx)
{
	(void)ctx;
	forwarded[bpf_get_smp_processor_id() & (BENCH_MAX_CPUS - 1)].frames++;
	return bpf_redirect(parent_ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
