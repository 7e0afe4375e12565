// SPDX-License-Identifier: BSD-2-Clause
/*
 * What one would write without rounds: TC adds as XAgg's Algorithm 1 does, and sends a clone of each
 * full aggregate to every child. A clone differs in whom it is for; a real one has that child's
 * addresses too, which makes it no cheaper.
 */
#include "bench/algorithm1.bpf.h"

#include <linux/pkt_cls.h>

/* Set before loading. */
const volatile struct {
	__u32 children; /* at most BENCH_MAX_CHILDREN */
	__u32 ifindex;	/* that clones leave by */
} config = {.children = 4};

/* One writer: the run's CPU. */
__u64 cloned, refused; /* clones that the device took, and that it didn't */

SEC("tc")
int clones(struct __sk_buff *skb)
{
	__u32 child, id;

	if (algorithm1((void *)(long)skb->data, (void *)(long)skb->data_end, config.children,
		       BENCH_XAGG_ELEMENTS) != ALGORITHM1_FULL)
		return TC_ACT_SHOT;
	for (child = 0; child < BENCH_MAX_CHILDREN && child < config.children; child++) {
		id = 1u << child;
		if (bpf_skb_store_bytes(skb, BENCH_L4_END, &id, sizeof(id), 0))
			return TC_ACT_SHOT;
		if (bpf_clone_redirect(skb, config.ifindex, 0))
			refused++;
		else
			cloned++;
	}
	return TC_ACT_SHOT;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
