/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Folding: an arrival's sums are added to an open entry, and its headers take the place of the
 * entry's. Under the slot's lock. The common case is inline; a frame that isn't linear is one call
 * away.
 */
#ifndef OLAF_FOLD_BPF_H
#define OLAF_FOLD_BPF_H

#include "bpf/order/places.bpf.h"
#include "bpf/packet/add.bpf.h"
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

/* Folds a frame whose lanes aren't all in its linear part. */
__noinline int olaf_fold_staged(struct xdp_md *ctx, __u32 index)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *entry = olaf_entry_at(index);
	__u32 bytes;

	if (!a || !entry || olaf_add_staged(ctx, a, entry->lanes))
		return -1;
	bytes = olaf_clamp(a->update.header_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	return bpf_xdp_load_bytes(ctx, 0, olaf_frame_of(entry, bytes), bytes);
}

/* Adds the arrival to the slot's open entry. Under the slot's lock. */
static __always_inline void olaf_fold(struct xdp_md *ctx, struct olaf_arrival *a,
				      struct olaf_slot *slot, struct olaf_entry *entry,
				      __u32 index)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	__u32 lanes = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const void *from = olaf_frame_lanes(ctx, header_bytes);

	if (entry->pending.header_bytes != a->update.header_bytes)
		olaf_place_resize(slot, olaf_buffer_of(index), a);
	olaf_pending_fold(&entry->pending, &a->update);
	if (olaf_are_linear(from, end, lanes)) {
		olaf_headers_take(entry, data, end, header_bytes);
		olaf_lanes_add_frame(entry->lanes, from, end, lanes);
	} else {
		olaf_fold_staged(ctx, index);
	}
}

#endif /* OLAF_FOLD_BPF_H */
