// SPDX-License-Identifier: BSD-2-Clause
/* Reads a packet without a bounds check: every verifier must refuse it. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int read_unchecked(struct xdp_md *ctx)
{
	return *(__u8 *)(long)ctx->data;
}

char _license[] SEC("license") = "Dual BSD/GPL";
