/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is an update's UDP checksum right? Where it has a checksum lane, the server finds damage
 * in the aggregate, so that is asked for by --verify only. Without one nobody could ever
 * tell whose update spoilt the sum: then a wrong one is always refused.
 *
 * A pass of its own before folding, not a part of it: what is wrong must not have been added.
 * bpf_csum_diff() takes longer (docs/benchmarks.md).
 */
#ifndef OLAF_CHECKSUM_BPF_H
#define OLAF_CHECKSUM_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/beside.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/packet/parse.bpf.h"

/* Adds a word to what the sum of 32-bit halves is made of. */
#define OLAF_WORD_SUM(i)                      \
	{                                     \
		__u64 word_ = from[i];        \
		total += word_;               \
		high += word_ >> 32;          \
	}

/*
 * Defines NAME(from, end, words): the Internet sum, not folded, of a message of so many 64-bit
 * words. `high` is the sum of their high halves; `total`, mod 2^64, less those is the sum of
 * the low ones: two additions and a shift a word. GUARD(bytes) as for lanes (lanes.bpf.h).
 */
#define OLAF_DEFINE_SUM(NAME, GUARD)                                                          \
	static __always_inline __u64 NAME(const __u64 *from, const void *end, __u32 words)    \
	{                                                                                     \
		__u32 done, i, most = OLAF_HEADER_WORDS + olaf_cfg.max_lanes;                 \
		__u64 total = 0, high = 0;                                                    \
                                                                                              \
		(void)end;                                                                    \
		for (done = 0; done + OLAF_BLOCK <= most; done += OLAF_BLOCK) {               \
			if (done + OLAF_BLOCK > words)                                        \
				break;                                                        \
			GUARD(8 * OLAF_BLOCK)                                                 \
			OLAF_LANES_16(OLAF_WORD_SUM)                                          \
			from += OLAF_BLOCK;                                                   \
		}                                                                             \
		for (i = 0; i < OLAF_BLOCK - 1; i++) {                                        \
			if (done + i >= words)                                                \
				break;                                                        \
			GUARD(8)                                                              \
			OLAF_WORD_SUM(0)                                                      \
			from++;                                                               \
			olaf_keep(from);                                                      \
		}                                                                             \
		return total - (high << 32) + high;                                           \
	}

#define OLAF_SUM_GUARD_FRAME(bytes)                     \
	if ((const void *)from + (bytes) > end)         \
		return 0;

/* In the linear part of a frame, which ends at `end`. */
OLAF_DEFINE_SUM(olaf_sum_frame, OLAF_SUM_GUARD_FRAME)
/* In a map value. */
OLAF_DEFINE_SUM(olaf_sum_staged, OLAF_GUARD_NONE)

/* Sum of the message behind UDP, wherever its bytes are. */
static __always_inline __u64 olaf_message_sum(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 words = OLAF_HEADER_WORDS + a->update.lanes;
	void *from = data + header_bytes;
	struct olaf_entry *staged;

	olaf_keep(from);
	if (from + sizeof(struct olaf_header) + 8 * a->update.lanes <= end)
		return olaf_sum_frame(from, end, words);
	staged = olaf_stage(ctx, a->update.header_bytes,
			    a->update.header_bytes + a->message_bytes);
	return staged ? olaf_sum_staged((const __u64 *)&staged->message, NULL, words) : 0;
}

/* Sum of the whole datagram: not right unless it is zero, folded. Global: verified once. */
__noinline int olaf_udp_is_wrong(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct olaf_arrival *a = olaf_arrival_here();
	struct udphdr *udp;
	__u64 sum;

	if (!a)
		return 0;
	udp = olaf_at(data, a->update.l4_offset);
	if ((void *)(udp + 1) > end)
		return 0;
	/* Zero: nobody summed it. Partial: the device will. */
	if (!udp->check || (a->beside & OLAF_BESIDE_PARTIAL))
		return 0;
	sum = olaf_pseudo_sum(olaf_at(data, a->update.l3_offset), end, a->update.family, udp);
	/* What a socket of this host left to the device: nothing has been on a wire. */
	if (!(a->beside & OLAF_BESIDE_KNOWN) && udp->check == (__u16)~olaf_checksum_fold(sum))
		return 0;
	sum += (__u64)udp->source + udp->dest + udp->len + udp->check;
	return olaf_checksum_fold(sum + olaf_message_sum(ctx, a)) != 0;
}

/* OLAF_FRAME_UPDATE, or malformed if its checksum is looked at, and wrong. */
static __always_inline int olaf_verify(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	if ((a->update.flags & OLAF_FLAG_CHECKSUM) && !(olaf_cfg.flags & OLAF_CONFIG_VERIFY))
		return OLAF_FRAME_UPDATE;
	/* More than there is room for: refused as that. */
	if (a->update.lanes > olaf_cfg.max_lanes || !olaf_udp_is_wrong(ctx))
		return OLAF_FRAME_UPDATE;
	return olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
}

#endif /* OLAF_CHECKSUM_BPF_H */
