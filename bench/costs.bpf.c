// SPDX-License-Identifier: BSD-2-Clause
/*
 * A price list: what the parts that an update's path is made of cost by themselves
 * on this machine. The first, `nothing`, is BPF_PROG_TEST_RUN's own cost and is in
 * all the others.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

struct value {
	struct bpf_spin_lock lock;
	__u32 pad;
	__u64 lanes[BENCH_LANES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* more for `random_add`, set before loading */
	__type(key, __u32);
	__type(value, struct value);
} values SEC(".maps");

/* Of how many entries `random_add` takes one. Set before loading, as is the size of the map. */
const volatile __u32 random_entries = 1;

__u64 seen;
__u64 added; /* one writer: the run's CPU */
__u32 random_state = 2463534242u;
volatile __u32 key;

SEC("xdp")
int nothing(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

SEC("xdp")
int clock(struct xdp_md *ctx)
{
	(void)ctx;
	seen = bpf_ktime_get_ns();
	return XDP_DROP;
}

SEC("xdp")
int coarse_clock(struct xdp_md *ctx)
{
	(void)ctx;
	seen = bpf_ktime_get_coarse_ns();
	return XDP_DROP;
}

SEC("xdp")
int lookup(struct xdp_md *ctx)
{
	__u32 k = key;
	struct value *v = bpf_map_lookup_elem(&values, &k);

	(void)ctx;
	if (v)
		v->pad++;
	return XDP_DROP;
}

SEC("xdp")
int lock(struct xdp_md *ctx)
{
	__u32 k = key;
	struct value *v = bpf_map_lookup_elem(&values, &k);

	(void)ctx;
	if (v) {
		bpf_spin_lock(&v->lock);
		v->pad++;
		bpf_spin_unlock(&v->lock);
	}
	return XDP_DROP;
}

static __noinline int subprogram(struct xdp_md *ctx)
{
	return *(volatile __u32 *)&ctx->data_end != 0;
}

SEC("xdp")
int call(struct xdp_md *ctx)
{
	return subprogram(ctx) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int load_headers(struct xdp_md *ctx)
{
	__u8 bytes[BENCH_L4_END];

	if (bpf_xdp_load_bytes(ctx, 0, bytes, sizeof(bytes)))
		return XDP_PASS;
	seen = *(__u64 *)bytes;
	return XDP_DROP;
}

static __always_inline __u64 *frame_lanes(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;

	return data + BENCH_OLAF_FRAME <= data_end ? data + BENCH_OLAF_PAYLOAD : NULL;
}

SEC("xdp")
int add_lanes(struct xdp_md *ctx)
{
	__u32 k = key;
	struct value *v = bpf_map_lookup_elem(&values, &k);
	__u64 *lanes = frame_lanes(ctx);

	if (!v || !lanes)
		return XDP_PASS;
#pragma clang loop unroll(full)
	for (int i = 0; i < BENCH_LANES; i++)
		v->lanes[i] += lanes[i];
	return XDP_DROP;
}

/* An entry that no cache has foreseen. */
static __always_inline struct value *random_value(void)
{
	__u32 x = random_state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	random_state = x;
	x = ((__u64)x * random_entries) >> 32;
	return bpf_map_lookup_elem(&values, &x);
}

static __always_inline void add_to(struct value *v, const __u64 *lanes)
{
	added++;
#pragma clang loop unroll(full)
	for (int i = 0; i < BENCH_LANES; i++)
		v->lanes[i] += lanes[i];
}

static __always_inline int add_random(struct xdp_md *ctx)
{
	struct value *v = random_value();
	__u64 *lanes = frame_lanes(ctx);

	if (!v || !lanes)
		return XDP_PASS;
	add_to(v, lanes);
	return XDP_DROP;
}

static __always_inline int add_random_exchanged(struct xdp_md *ctx)
{
	struct value *v = random_value();
	__u64 *lanes = frame_lanes(ctx);

	if (!v || !lanes || __sync_lock_test_and_set(&v->pad, 1))
		return XDP_PASS;
	add_to(v, lanes);
	*(volatile __u32 *)&v->pad = 0;
	return XDP_DROP;
}

/* The memory itself: 1 KiB is added to such an entry. */
SEC("xdp")
int random_add(struct xdp_md *ctx)
{
	return add_random(ctx);
}

/* The clock is read first. Its fence waits for what was read before, so no two runs overlap. */
SEC("xdp")
int random_add_timed(struct xdp_md *ctx)
{
	seen = bpf_ktime_get_ns();
	return add_random(ctx);
}

/* A word of the entry is exchanged first, as its lock is: what is behind it waits for that line. */
SEC("xdp")
int random_add_exchanged(struct xdp_md *ctx)
{
	return add_random_exchanged(ctx);
}

/* Both, as in the queue. */
SEC("xdp")
int random_add_both(struct xdp_md *ctx)
{
	seen = bpf_ktime_get_ns();
	return add_random_exchanged(ctx);
}

/*
 * The Internet sum besides, in the same pass: T of the lanes and H of their high halves, both
 * mod 2^64; T - (H << 32) is the sum of the low halves.
 */
SEC("xdp")
int add_and_sum_lanes(struct xdp_md *ctx)
{
	__u32 k = key;
	struct value *v = bpf_map_lookup_elem(&values, &k);
	__u64 *lanes = frame_lanes(ctx), total = 0, high = 0;

	if (!v || !lanes)
		return XDP_PASS;
#pragma clang loop unroll(full)
	for (int i = 0; i < BENCH_LANES; i++) {
		__u64 lane = lanes[i];

		v->lanes[i] += lane;
		total += lane;
		high += lane >> 32;
		asm volatile("" : "+r"(total), "+r"(high)); /* or all lanes are read first */
	}
	seen = total - (high << 32) + high;
	return XDP_DROP;
}

/* The sum alone, by the kernel. */
SEC("xdp")
int sum_lanes(struct xdp_md *ctx)
{
	__u64 *lanes = frame_lanes(ctx);

	if (!lanes)
		return XDP_PASS;
	seen = (__u32)bpf_csum_diff(NULL, 0, (void *)lanes, 512, 0);
	seen += (__u32)bpf_csum_diff(NULL, 0, (void *)(lanes + 64), 512, 0);
	return XDP_DROP;
}

SEC("xdp")
int add_lanes_locked(struct xdp_md *ctx)
{
	__u32 k = key;
	struct value *v = bpf_map_lookup_elem(&values, &k);
	__u64 *lanes = frame_lanes(ctx);

	if (!v || !lanes)
		return XDP_PASS;
	bpf_spin_lock(&v->lock);
#pragma clang loop unroll(full)
	for (int i = 0; i < BENCH_LANES; i++)
		v->lanes[i] += lanes[i];
	bpf_spin_unlock(&v->lock);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
