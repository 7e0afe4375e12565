/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A result over IPv4 without tags, which nearly every one is: its headers are written where they
 * belong in the frame, once. Each call of the kernel that this leaves out is a fiftieth of a
 * contribution. Whatever is less plain goes through the staging area (result.bpf.h).
 */
#ifndef OLAF_ROUND_PLAIN_BPF_H
#define OLAF_ROUND_PLAIN_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/partial.bpf.h"
#include "bpf/rounds/frame.bpf.h"

/* The way back to a child, of one moment. */
struct olaf_plain_way {
	__be32 saddr_be;
	__be32 daddr_be;
	__be16 dest_be;
	__be16 dmac_be[3];
};

/* Reads the way. Returns 0 where it isn't plain, is being written just now, or isn't known. */
static __always_inline int olaf_plain_way(struct olaf_child *child, struct olaf_plain_way *way)
{
	struct olaf_member *member = &child->member;
	const __be16 *mac_be = (const __be16 *)member->mac;
	__u32 sequence = READ_ONCE(member->sequence);

	olaf_member_barrier(member);
	if ((sequence & 1) || member->family != 4 || member->tags || !member->port_be ||
	    !member->last_seen_ns)
		return 0;
	way->saddr_be = member->local_addr_be[0];
	way->daddr_be = member->addr_be[0];
	way->dest_be = member->port_be;
	way->dmac_be[0] = mac_be[0];
	way->dmac_be[1] = mac_be[1];
	way->dmac_be[2] = mac_be[2];
	olaf_member_barrier(member);
	return READ_ONCE(member->sequence) == sequence;
}

/* Ethernet, IP and UDP around a message of so many bytes at `message`. */
static __always_inline void olaf_plain_dress(void *message, __u32 bytes,
					     const struct olaf_plain_way *way)
{
	struct ethhdr *eth = message - OLAF_MIN_HEADERS;
	const volatile __be16 *smac_be = (const volatile __be16 *)olaf_cfg.mac;
	__be16 *dmac_be = (__be16 *)eth->h_dest, *from_be = (__be16 *)eth->h_source;
	struct olaf_ends ends;

	dmac_be[0] = way->dmac_be[0];
	dmac_be[1] = way->dmac_be[1];
	dmac_be[2] = way->dmac_be[2];
	from_be[0] = smac_be[0];
	from_be[1] = smac_be[1];
	from_be[2] = smac_be[2];
	eth->h_proto = bpf_htons(ETH_P_IP);
	ends.saddr_be[0] = way->saddr_be;
	ends.daddr_be[0] = way->daddr_be;
	ends.source_be = olaf_cfg.port_be;
	ends.dest_be = way->dest_be;
	olaf_compose4(message, bytes, &ends);
}

/*
 * The buffer's result for `rank` becomes the frame at hand, which is as it arrived. Returns 0, or
 * -1: it can't be that long, and is spoilt. Under the slot's lock.
 */
static __always_inline int olaf_plain_put(struct xdp_md *ctx, const struct olaf_arrival *a,
					  const struct olaf_job *job, __u32 rank,
					  const struct olaf_round_buffer *buffer, const __u64 *lanes,
					  const struct olaf_plain_way *way)
{
	__u32 count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes);
	__u32 bytes = olaf_clamp(8 * count, 8, 8 * olaf_cfg.max_lanes);
	int delta = (int)(OLAF_MIN_HEADERS + sizeof(struct olaf_header) + bytes) -
		    (int)a->frame_bytes;
	void *message, *end;

	if (delta && bpf_xdp_adjust_tail(ctx, delta))
		return -1;
	message = (void *)(long)ctx->data + OLAF_MIN_HEADERS;
	end = (void *)(long)ctx->data_end;
	if (message + sizeof(struct olaf_header) > end)
		return -1;
	olaf_plain_dress(message, sizeof(struct olaf_header) + bytes, way);
	olaf_result_say(message, job, rank, buffer, count);
	message += sizeof(struct olaf_header);
	if (count <= olaf_linear_lanes() && message + bytes <= end) {
		olaf_lanes_put(message, lanes, end, count);
		return 0;
	}
	return bpf_xdp_store_bytes(ctx, OLAF_MIN_HEADERS + sizeof(struct olaf_header),
				   (void *)lanes, bytes) ?
		       -1 :
		       0;
}

#endif /* OLAF_ROUND_PLAIN_BPF_H */
