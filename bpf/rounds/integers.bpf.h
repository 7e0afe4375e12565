/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contributions of integers: a lane of the buffer for each of the frame (add.bpf.h). */
#ifndef OLAF_ROUND_INTEGERS_BPF_H
#define OLAF_ROUND_INTEGERS_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/rounds/lanes.bpf.h"

/* Adds lanes that aren't all in the linear part of the frame: through the staging area. */
__noinline int olaf_round_add_staged(struct xdp_md *ctx, __u32 buffer_index)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	__u32 count;

	if (!lanes || !a || !staged)
		return -1;
	count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	if (bpf_xdp_load_bytes(ctx, a->update.header_bytes + sizeof(struct olaf_header),
			       staged->lanes, 8 * count))
		return -1;
	olaf_lanes_add(lanes, staged->lanes, NULL, count);
	return 0;
}

/* Adds the frame's lanes to the buffer's. Returns 0, or -1: they can't be read. */
__noinline int olaf_round_add(struct xdp_md *ctx, __u32 buffer_index)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct olaf_arrival *a = olaf_arrival_here();
	__u32 count;
	void *from;

	if (!lanes || !a)
		return -1;
	count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	from = data + olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS) +
	       sizeof(struct olaf_header);
	olaf_keep(from);
	if (count > olaf_linear_lanes() || from + 8 * count > end)
		return olaf_round_add_staged(ctx, buffer_index);
	olaf_lanes_add_frame(lanes, from, end, count);
	return 0;
}

/* The frame's lanes are the buffer's first. Returns 0, or -1: they can't be read. */
static __always_inline int olaf_round_first(struct xdp_md *ctx, const struct olaf_arrival *a,
					    __u32 buffer_index)
{
	__u32 at = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS) +
		   sizeof(struct olaf_header);
	__u64 *lanes = olaf_round_lanes_at(buffer_index);
	__u32 count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);

	return lanes && !bpf_xdp_load_bytes(ctx, at, lanes, 8 * count) ? 0 : -1;
}

/* Sums of integers are as they lie in a frame. */
static __always_inline void olaf_round_close(const struct olaf_job *job, __u32 buffer_index)
{
	(void)job;
	(void)buffer_index;
}

#endif /* OLAF_ROUND_INTEGERS_BPF_H */
