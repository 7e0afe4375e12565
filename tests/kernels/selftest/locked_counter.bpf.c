// SPDX-License-Identifier: BSD-2-Clause
/* The least that resembles the data path: XDP that reads a packet and adds to a map value under its lock. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct counter {
	struct bpf_spin_lock lock;
	__u32 packets;
	__u64 sum;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

SEC("xdp")
int count_locked(struct xdp_md *ctx)
{
	const __u8 *byte = (void *)(long)ctx->data;
	struct counter *counter;
	__u32 key = 0;

	if (byte + 1 > (__u8 *)(long)ctx->data_end)
		return XDP_ABORTED;
	counter = bpf_map_lookup_elem(&counters, &key);
	if (!counter)
		return XDP_ABORTED;
	bpf_spin_lock(&counter->lock);
	counter->packets++;
	counter->sum += *byte;
	bpf_spin_unlock(&counter->lock);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
