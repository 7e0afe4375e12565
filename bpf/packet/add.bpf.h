/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adding the lanes of the arriving frame to those of an entry, or of a chunk's buffer, in a map value:
 * straight from the frame where all of them lie in its linear part, else through the staging area.
 */
#ifndef OLAF_ADD_BPF_H
#define OLAF_ADD_BPF_H

#include "bpf/claim.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/staging.bpf.h"

/*
 * Where the frame's lanes begin. `header_bytes`, and `lanes` below, are bounded by the caller, who needs them
 * too: the verifier would follow each pair of their values otherwise.
 */
static __always_inline const void *olaf_frame_lanes(struct xdp_md *ctx, __u32 header_bytes)
{
	const void *from = (void *)(long)ctx->data + header_bytes + sizeof(struct olaf_header);

	olaf_keep(from);
	return from;
}

/* Do all of them lie in the frame's linear part, which ends at `end`? */
static __always_inline int olaf_are_linear(const void *from, const void *end, __u32 lanes)
{
	return lanes <= olaf_linear_lanes() && from + 8 * lanes <= end;
}

/* Returns 0, or -1: the frame ends before them. */
static __always_inline int olaf_add_staged(struct xdp_md *ctx, const struct olaf_arrival *a,
					   __u64 *to)
{
	__u32 lanes = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	struct olaf_entry *staged = olaf_staging();

	if (!staged || bpf_xdp_load_bytes(ctx, a->update.header_bytes + sizeof(struct olaf_header),
					  staged->lanes, 8 * lanes))
		return -1;
	olaf_lanes_add(to, staged->lanes, NULL, lanes);
	return 0;
}

#endif /* OLAF_ADD_BPF_H */
