/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Folding: an arrival's sums are added to an open entry, and its headers take the place of the
 * entry's. Under the slot's lock.
 *
 * The lanes come first, and are summed as they are added. If the arrival's UDP checksum turns out to be
 * wrong they are subtracted again: nobody reads an open entry without the lock.
 */
#ifndef OLAF_FOLD_BPF_H
#define OLAF_FOLD_BPF_H

#include "bpf/order/places.bpf.h"
#include "bpf/packet/add.bpf.h"
#include "bpf/packet/checksum.bpf.h"
#include "bpf/slots/slot.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "policies/registry.bpf.h"

/* The fields of protocol.md's "after folding" column. */
static __always_inline void olaf_pending_fold(struct olaf_pending *waiting,
					      const struct olaf_pending *update)
{
	waiting->worker = update->worker;
	waiting->sequence = update->sequence;
	waiting->count += update->count;
	waiting->reward += update->reward;
	if (waiting->generated_ns < update->generated_ns)
		waiting->generated_ns = update->generated_ns;
	if (waiting->model_version > update->model_version)
		waiting->model_version = update->model_version;
	waiting->segments = update->segments;
	waiting->header_bytes = update->header_bytes;
	waiting->l3_offset = update->l3_offset;
	waiting->l4_offset = update->l4_offset;
	waiting->family = update->family;
	waiting->routed = update->routed;
	waiting->arrived_ns = update->arrived_ns;
}

/* The entry's frame has another length than its place says: other headers than before. */
static __always_inline void olaf_place_resize(struct olaf_slot *slot, __u32 buffer,
					      const struct olaf_arrival *a)
{
	struct olaf_place *place = olaf_place_at(slot->position[buffer & 1]);

	if (place)
		place->bytes = a->update.header_bytes + a->message_bytes;
}

/* Subtracts the arrival's lanes from the entry's again: they are damaged. Returns nothing of interest. */
__noinline int olaf_unfold(struct xdp_md *ctx, __u32 index)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry = olaf_entry_at(index), *staged;

	if (!a || !entry)
		return -1;
	staged = olaf_stage(ctx, a->update.header_bytes,
			    a->update.header_bytes + a->message_bytes);
	if (!staged)
		return -1;
	olaf_lanes_sub(entry->lanes, staged->lanes, NULL,
		       olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes));
	return 0;
}

/*
 * Adds the arrival's lanes to the entry's and sums them meanwhile. Returns 0, or -1: they are damaged, and the
 * entry's are as they were. Where the lanes aren't all in the frame's linear part, they are copied first. A
 * global function: the verifier would follow what comes behind the sum once for each number of lanes.
 */
__noinline int olaf_fold_summing(struct xdp_md *ctx, __u32 index)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry = olaf_entry_at(index), *staged;
	const void *from, *end;
	__u32 header_bytes, lanes;
	__u64 sum;

	if (!a || !entry)
		return -1;
	header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	lanes = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	from = olaf_frame_lanes(ctx, header_bytes);
	end = (void *)(long)ctx->data_end;
	if (olaf_are_linear(from, end, lanes)) {
		sum = olaf_lanes_add_sum_frame(entry->lanes, from, end, lanes);
	} else {
		staged = olaf_stage(ctx, a->update.header_bytes,
				    a->update.header_bytes + a->message_bytes);
		if (!staged)
			return -1;
		sum = olaf_lanes_add_sum(entry->lanes, staged->lanes, NULL, lanes);
	}
	if (!olaf_sum_is_wrong(ctx, a, sum))
		return 0;
	olaf_unfold(ctx, index);
	return -1;
}

/*
 * Adds the arrival to the slot's open entry. Under the slot's lock. a->sum: see olaf_sum_headers(). Returns 0,
 * or -1: the arrival is damaged, and the entry is as it was.
 */
static __always_inline int olaf_fold(struct xdp_md *ctx, struct olaf_arrival *a,
				     struct olaf_slot *slot, struct olaf_entry *entry, __u32 index)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	__u32 lanes = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	const void *from = olaf_frame_lanes(ctx, header_bytes);

	if (!(olaf_cfg.flags & OLAF_CONFIG_VERIFY) &&
	    olaf_are_linear(from, (void *)(long)ctx->data_end, lanes))
		olaf_lanes_add_frame(entry->lanes, from, (void *)(long)ctx->data_end, lanes);
	else if (olaf_fold_summing(ctx, index))
		return -1;
	/* The headers always lie in the linear part. */
	olaf_headers_take(entry, (void *)(long)ctx->data, (void *)(long)ctx->data_end, header_bytes);
	if (entry->pending.header_bytes != a->update.header_bytes)
		olaf_place_resize(slot, olaf_buffer_of(index), a);
	olaf_pending_fold(&entry->pending, &a->update);
	return 0;
}

#endif /* OLAF_FOLD_BPF_H */
