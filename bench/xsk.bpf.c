// SPDX-License-Identifier: BSD-2-Clause
/* Hands every frame to the AF_XDP socket of its queue, where there is one. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* By receive queue. Written before frames come. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

SEC("xdp")
int to_socket(struct xdp_md *ctx)
{
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
