// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whole rounds in BPF_PROG_TEST_RUN: each run, the frame at hand becomes the next contribution,
 * whatever the last run made of it, and the program under test is called with it.
 *
 * Children take turns at a chunk, then the next chunk is theirs, then the next round. XAgg and a
 * job get the same stream, one after the other; this program's own cost is a row of its own.
 *
 * Two of them on two CPUs may share out a job's children or its chunks. Where it is children, neither
 * goes further ahead of the other than a child's window lets it: it makes no contribution meanwhile.
 *
 * While `checking`, each contribution gets its lanes, and each result that a run left in the frame
 * is compared with the sum and counted for the child that it is for. Otherwise a contribution
 * brings the lanes that the frame has: additions take as long, whatever they add. Sums of
 * floats that are sums grow too large, which takes another way: floats are given anew.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/frame.h"

const volatile struct bench_rounds rounds;

/* Key 0: the program under test. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* The same for a program of TC. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tc_target SEC(".maps");

/* Key: number of a generator, its only writer. Both have this map. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct bench_position);
} positions SEC(".maps");

/* How often a generator says how far it is: seldom, since the other's CPU loses that line each time. */
#define TOLD_EVERY 8

/* Two floats: 0.001. */
#define THOUSANDTHS 0x3a83126f3a83126fULL

/* One writer: the run's CPU, or user space between runs. */
__u32 checking;
__u32 next_child, next_chunk, next_round; /* of the next contribution */
__u64 passed; /* chunks that it has contributed to */
__u64 limit; /* of `passed`: until then it needn't look where the other is */
__u64 contributions; /* all that were made */
__u64 wrong; /* results that aren't the sum */
__u64 results[BENCH_MAX_CHILDREN]; /* for each child; XAgg: all in the first */

/* Two floats, such that the sum of a power of two of them is exact. */
static __always_inline __u64 floats_of(__u32 lane, __u32 of_chunk)
{
	__u64 bits = (110 + lane % 8) << 23 | ((131 * lane + of_chunk) & 0x7fffff);

	return (bits ^ 0x2aaa) << 32 | bits;
}

static __always_inline __u64 lane_of(__u32 lane, __u32 of_chunk)
{
	if (rounds.floats)
		return floats_of(lane, of_chunk);
	if (lane == BENCH_LANES - 1)
		return rounds.checksum + of_chunk;
	return bench_lane(lane) + (lane ? 0 : of_chunk);
}

/* So many children's lane: XAgg adds its halves, without a carry from one to the other. */
static __always_inline __u64 sum_of(__u64 lane)
{
	if (rounds.floats) /* their exponents grow */
		return lane + ((__u64)rounds.floats << 55) + ((__u64)rounds.floats << 23);
	if (!rounds.xagg)
		return rounds.children * lane;
	return (__u64)(rounds.children * (__u32)(lane >> 32)) << 32 | (rounds.children * (__u32)lane);
}

/* Compares what the frame carries with the sum of a chunk. */
static __always_inline void compare(const __u64 *lanes, __u32 of_chunk)
{
	__u32 i;

	for (i = 0; i < BENCH_LANES; i++)
		if (lanes[i] != sum_of(lane_of(i, of_chunk))) {
			wrong++;
			return;
		}
}

/* The last run's result, if there is one in the frame. */
static __always_inline void judge(const struct olaf_header *header, const __u64 *lanes)
{
	__u32 rank = bpf_ntohs(header->rank_be);

	if (rounds.xagg) {
		/* The frame of the last child leaves with the sum. */
		if (contributions && !next_child) {
			compare(lanes, next_chunk ? next_chunk - 1 : rounds.chunks - 1);
			results[0]++;
		}
		return;
	}
	if (header->type != OLAF_RESULT)
		return;
	if ((rank >= BENCH_MAX_CHILDREN && rank != OLAF_EVERY_RANK) ||
	    bpf_ntohs(header->added_be) != rounds.children) {
		wrong++;
		return;
	}
	compare(lanes, bpf_ntohl(header->chunk_be));
	if (rank == OLAF_EVERY_RANK) {
		for (rank = 0; rank < BENCH_MAX_CHILDREN && rank < rounds.children; rank++)
			results[rank]++;
		return;
	}
	/* Linux 6.1 forgets the bound of what was swapped, and clang would leave out a mask. */
	asm volatile("" : "+r"(rank));
	results[rank & (BENCH_MAX_CHILDREN - 1)]++;
}

/* Whose contribution it is, and to what. */
static __always_inline void name(void *header)
{
	struct xagg_header *xagg = header;
	struct olaf_header *olaf = header;
	__u64 word[OLAF_HEADER_WORDS] = {};
	__be16 *port_be = header - 8;

	if (rounds.xagg) {
		xagg->id = 1u << (next_child & 31);
		xagg->idx = next_chunk;
		return;
	}
	*port_be = bpf_htons(40000 + next_child); /* each child has its own, by which the node knows it */
	word[1] = (__u64)bpf_htonl(next_child) << 32;
	word[2] = bpf_htonl(next_round);
	word[4] = bpf_htonl(next_chunk);
	olaf->worker_be = word[1] >> 32;
	olaf->sequence_be = word[2];
	olaf->chunk_be = word[4];
	olaf->check ^= olaf_header_parity(word); /* it was that of zeros in these places */
}

/* What all contributions begin with: 50 or 90 bytes, so two are left behind the words. */
static __always_inline void put_head(void *data, __u32 bytes)
{
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i + 8 <= bytes; i += 8)
		*(__u64 *)(data + i) = *(const volatile __u64 *)&rounds.head[i];
	*(__u16 *)(data + i) = *(const volatile __u16 *)&rounds.head[i];
}

/* Is the other generator too far behind? */
static __always_inline int waits(void)
{
	__u32 other = !rounds.number;
	struct bench_position *there;

	if (!rounds.window || passed < limit)
		return 0;
	there = bpf_map_lookup_elem(&positions, &other);
	if (there)
		limit = *(volatile __u64 *)&there->chunks + rounds.window;
	return passed >= limit;
}

static __always_inline void tell(void)
{
	__u32 number = rounds.number;
	struct bench_position *here;

	if (!rounds.window || passed % TOLD_EVERY)
		return;
	here = bpf_map_lookup_elem(&positions, &number);
	if (here)
		*(volatile __u64 *)&here->chunks = passed;
}

static __always_inline void next(void)
{
	contributions++;
	if (++next_child < rounds.end_child)
		return;
	next_child = rounds.first_child;
	passed++;
	tell();
	next_chunk += rounds.stride;
	if (next_chunk < rounds.chunks)
		return;
	next_chunk = rounds.first_chunk;
	next_round++;
}

/* UDP's checksum, which protects what has no checksum lane. */
static __always_inline void put_checksum(void *data, const __u64 *lanes)
{
	const __u32 *addresses = data + 26, *header = data + BENCH_L4_END;
	__u16 *udp = data + BENCH_L4_END - 8;
	__u64 sum = (__u64)addresses[0] + addresses[1] + bpf_htons(17) + udp[2];
	__u32 i;

	sum += (__u64)udp[0] + udp[1] + udp[2];
#pragma clang loop unroll(full)
	for (i = 0; i < sizeof(struct olaf_header) / 4; i++)
		sum += header[i];
	if (checking)
		for (i = 0; i < BENCH_LANES; i++)
			sum += (lanes[i] & 0xffffffff) + (lanes[i] >> 32);
	else
		sum += BENCH_LANES * 2 * (THOUSANDTHS >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	udp[3] = sum ? sum : 0xffff; /* 0 would say that there is none */
}

/* The frame becomes the next contribution. Returns whether it did. */
static __always_inline int turn(void *data, void *data_end)
{
	__u32 head_bytes = rounds.xagg ? BENCH_XAGG_PAYLOAD : BENCH_OLAF_PAYLOAD;
	__u64 *lanes = data + head_bytes;
	__u32 i;

	if ((void *)(lanes + BENCH_LANES) > data_end || waits())
		return 0;
	if (checking)
		judge(data + BENCH_L4_END, lanes);
	if (rounds.xagg)
		put_head(data, BENCH_XAGG_PAYLOAD);
	else
		put_head(data, BENCH_OLAF_PAYLOAD);
	name(data + BENCH_L4_END);
	if (checking)
		for (i = 0; i < BENCH_LANES; i++)
			lanes[i] = lane_of(i, next_chunk);
	else if (rounds.floats)
		for (i = 0; i < BENCH_LANES; i++)
			lanes[i] = THOUSANDTHS;
	if (rounds.floats)
		put_checksum(data, lanes);
	next();
	return 1;
}

SEC("xdp")
int turns(struct xdp_md *ctx)
{
	if (turn((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		bpf_tail_call(ctx, &target, 0);
	return XDP_ABORTED;
}

SEC("tc")
int turns_of_tc(struct __sk_buff *skb)
{
	if (turn((void *)(long)skb->data, (void *)(long)skb->data_end))
		bpf_tail_call(skb, &tc_target, 0);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
