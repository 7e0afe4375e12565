/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is an update's UDP checksum right? Where it has a checksum lane, the server finds damage
 * in the aggregate, so that is asked for by --verify only. Without one nobody could ever
 * tell whose update spoilt the sum: then a wrong one is always refused.
 *
 * A pass of its own before folding, not a part of it: what is wrong must not have been added.
 * The kernel's own sum is twice as fast as one in BPF (docs/benchmarks.md).
 */
#ifndef OLAF_CHECKSUM_BPF_H
#define OLAF_CHECKSUM_BPF_H

#include "bpf/packet/beside.bpf.h"
#include "bpf/queue/entry.bpf.h"

#define OLAF_SUM_BLOCK 512 /* bytes: bpf_csum_diff() takes no more before Linux 6.13 */

#define OLAF_MOST_MESSAGE ((__u32)(sizeof(struct olaf_header) + 8 * olaf_cfg.max_lanes))

static __always_inline __u64 olaf_sum_block(void *from, __u32 bytes)
{
	return (__u32)bpf_csum_diff(NULL, 0, from, bytes, 0);
}

/*
 * Internet sum, not folded, of `bytes` bytes of a frame that ends at `end`: a multiple of 8,
 * at most a message's. Whole blocks, then one for each bit of what is left: of packets the
 * verifier takes constant lengths only.
 */
static __always_inline __u64 olaf_sum_frame(void *from, const void *end, __u32 bytes)
{
	__u32 done, block;
	__u64 sum = 0;

	for (done = 0; done + OLAF_SUM_BLOCK <= OLAF_MOST_MESSAGE; done += OLAF_SUM_BLOCK) {
		if (done + OLAF_SUM_BLOCK > bytes || from + OLAF_SUM_BLOCK > end)
			break;
		sum += olaf_sum_block(from, OLAF_SUM_BLOCK);
		from += OLAF_SUM_BLOCK;
	}
#pragma clang loop unroll(full)
	for (block = OLAF_SUM_BLOCK / 2; block >= 8; block /= 2) {
		if (!(bytes & block))
			continue;
		if (from + block > end)
			break;
		sum += olaf_sum_block(from, block);
		from += block;
	}
	return sum;
}

/* The same of a message in the staging area. */
static __always_inline __u64 olaf_sum_staged(struct olaf_entry *staged, __u32 bytes)
{
	void *from = &staged->message;
	__u64 sum = 0;
	__u32 done;

	for (done = 0; done + OLAF_SUM_BLOCK <= OLAF_MOST_MESSAGE; done += OLAF_SUM_BLOCK) {
		if (done + OLAF_SUM_BLOCK > bytes)
			break;
		sum += olaf_sum_block(from + done, OLAF_SUM_BLOCK);
	}
	bytes = olaf_clamp(bytes - done, 0, OLAF_MOST_MESSAGE - done);
	return sum + olaf_sum_block(from + done, bytes);
}

/* Sum of the message behind UDP, wherever its bytes are. */
static __always_inline __u64 olaf_message_sum(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	void *from = data + header_bytes;
	struct olaf_entry *staged;

	olaf_keep(from);
	if (from + sizeof(struct olaf_header) + 8 * a->update.lanes <= end)
		return olaf_sum_frame(from, end, a->message_bytes);
	staged = olaf_stage(ctx, a->update.header_bytes,
			    a->update.header_bytes + a->message_bytes);
	return staged ? olaf_sum_staged(staged, a->message_bytes) : 0;
}

/* Sum of the pseudo header: addresses, protocol and length. */
static __always_inline __u64 olaf_pseudo_sum(void *l3, const void *end, __u32 family,
					     const struct udphdr *udp)
{
	__be32 *addresses_be = l3 + (family == 4 ? offsetof(struct iphdr, saddr) :
						   offsetof(struct ipv6hdr, saddr));
	__u64 sum = bpf_htons(IPPROTO_UDP) + udp->len;
	int i;

	if ((void *)(addresses_be + 2) > end)
		return sum;
	sum += (__u64)addresses_be[0] + addresses_be[1];
	if (family == 4 || (void *)(addresses_be + 8) > end)
		return sum;
	for (i = 2; i < 8; i++)
		sum += addresses_be[i];
	return sum;
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
