/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is the UDP checksum of the message at hand right?
 *
 * Every update is asked that, unless --no-verify. No lane protects its header, whose fields become sums, maxima
 * or minima. A fold sums the lanes in the pass that adds them, and subtracts them if the checksum is wrong
 * (slots/fold.bpf.h); a pass of its own takes longer (docs/benchmarks.md). Any other update is summed before it
 * is used.
 *
 * Lanes without a checksum lane are always summed: behind this queue no server could find the damage.
 */
#ifndef OLAF_CHECKSUM_BPF_H
#define OLAF_CHECKSUM_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/add.bpf.h"
#include "bpf/packet/beside.bpf.h"
#include "bpf/packet/compose.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/packet/parse.bpf.h"

/*
 * Sums what the checksum of the message at hand covers besides the lanes, as a->sum: with the sum of the
 * lanes that folds to 0 if the checksum is right. 0: nobody can look at it, as there is none, or a device
 * will write it. It is kept in a map, for the verifier would follow the lanes once for each of its bounds.
 */
static __always_inline void olaf_sum_headers(struct xdp_md *ctx, struct olaf_arrival *a)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct udphdr *udp = olaf_at(data, a->update.l4_offset);
	struct olaf_header *header = (void *)(udp + 1);
	__u64 sum;

	a->sum = 0;
	/* Zero: nobody summed it. Partial: the device will. */
	if ((void *)(header + 1) > end || !udp->check || (a->beside & OLAF_BESIDE_PARTIAL))
		return;
	sum = olaf_pseudo_sum(olaf_at(data, a->update.l3_offset), end, a->update.family, udp);
	a->sum = sum + udp->source + udp->dest + udp->len + udp->check + olaf_header_sum(header);
}

/*
 * Did a socket of this host leave the checksum to the device, as far as the bytes tell? Then the sum of the
 * pseudo header stands there, and nothing has been on a wire. A global function: rare.
 */
__noinline int olaf_sum_is_left(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct olaf_arrival *a = olaf_arrival_here();
	struct udphdr *udp;
	__u64 sum;

	if (!a || (a->beside & OLAF_BESIDE_KNOWN))
		return 0;
	udp = olaf_at(data, a->update.l4_offset);
	if ((void *)(udp + 1) > end)
		return 0;
	sum = olaf_pseudo_sum(olaf_at(data, a->update.l3_offset), end, a->update.family, udp);
	return udp->check == (__u16)~olaf_checksum_fold(sum);
}

/* Is the checksum wrong? Behind olaf_sum_headers(); with the sum of the lanes. */
static __always_inline int olaf_sum_is_wrong(struct xdp_md *ctx, const struct olaf_arrival *a,
					     __u64 lanes_sum)
{
	return a->sum && olaf_checksum_fold(a->sum + lanes_sum) && !olaf_sum_is_left(ctx);
}

/* Is the checksum of the message at hand wrong? In a pass of its own. A global function: verified once. */
__noinline int olaf_udp_is_wrong(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	__u32 header_bytes, lanes;
	struct olaf_entry *staged;
	const void *from, *end;

	if (!a)
		return 0;
	olaf_sum_headers(ctx, a);
	if (!a->sum)
		return 0;
	header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	lanes = olaf_clamp(a->update.lanes, 0, olaf_cfg.max_lanes);
	from = olaf_frame_lanes(ctx, header_bytes);
	end = (void *)(long)ctx->data_end;
	if (olaf_are_linear(from, end, lanes))
		return olaf_sum_is_wrong(ctx, a, olaf_lanes_sum_frame(NULL, from, end, lanes));
	staged = olaf_stage(ctx, a->update.header_bytes,
			    a->update.header_bytes + a->message_bytes);
	return !staged || olaf_sum_is_wrong(ctx, a, olaf_lanes_sum(staged->lanes, lanes));
}

/*
 * Of a message whose lanes may have no checksum lane: OLAF_FRAME_UPDATE, or malformed if they have none and
 * the checksum is wrong.
 */
static __always_inline int olaf_verify_bare(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	/* More than there is room for: refused as that. */
	if ((a->update.flags & OLAF_FLAG_CHECKSUM) || a->update.lanes > olaf_cfg.max_lanes ||
	    !olaf_udp_is_wrong(ctx))
		return OLAF_FRAME_UPDATE;
	return olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
}

/*
 * Is the update at hand damaged? Looked at once: a->integrity keeps the answer. With --no-verify
 * olaf_verify_bare() has said before what there is to be said.
 */
static __always_inline int olaf_is_damaged(struct xdp_md *ctx, struct olaf_arrival *a)
{
	if (a->integrity == OLAF_UNVERIFIED)
		a->integrity = olaf_udp_is_wrong(ctx) ? OLAF_DAMAGED : OLAF_INTACT;
	return a->integrity == OLAF_DAMAGED;
}

#endif /* OLAF_CHECKSUM_BPF_H */
