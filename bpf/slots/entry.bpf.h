/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_entries: the waiting updates themselves.
 *
 * Key: buffer x slots + slot for policies that fold (olaf_entry_of()); behind those, the
 * position mod fifo_places for those that don't (olaf_entry_of_place()). Value struct
 * olaf_entry with max_lanes lanes (OLAF_ENTRY_BYTES).
 *
 * Writers: arrivals, under the lock of the slot that the update belongs to, while the
 * entry is free or open. Once its place is LEAVING it belongs to the one CPU that
 * popped it, which reads and rewrites it without a lock until it frees the place.
 */
#ifndef OLAF_ENTRY_BPF_H
#define OLAF_ENTRY_BPF_H

#include "bpf/arrival.bpf.h"
#include <linux/if_ether.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2); /* 2 x slots + fifo_places, set by the loader */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ENTRY_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_entries SEC(".maps");

static __always_inline struct olaf_entry *olaf_entry_at(__u32 index)
{
	return bpf_map_lookup_elem(&olaf_entries, &index);
}

/* Copies the arriving frame into an entry, headers ending where the message begins. */
static __always_inline int olaf_entry_fill(struct xdp_md *ctx, struct olaf_entry *entry,
					   const struct olaf_arrival *a)
{
	__u32 header_bytes = olaf_clamp(a->update.header_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	__u32 bytes = olaf_clamp(header_bytes + a->message_bytes, ETH_HLEN, OLAF_MAX_FRAME);

	return bpf_xdp_load_bytes(ctx, 0, olaf_frame_of(entry, header_bytes), bytes);
}

/*
 * Takes over the headers of the frame that ends at `end`: words of eight, then the last
 * eight bytes once more, since headers are OLAF_MIN_HEADERS or longer and no multiple of
 * eight.
 */
static __always_inline void olaf_headers_take(struct olaf_entry *entry, void *data, void *end,
					      __u32 header_bytes)
{
	void *to = olaf_frame_of(entry, header_bytes), *from = data;
	__u32 i;

	if (from + OLAF_MIN_HEADERS > end)
		return;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_MIN_HEADERS / 8; i++)
		*(__u64 *)(to + 8 * i) = *(__u64 *)(from + 8 * i);
	for (; i < OLAF_MAX_HEADERS / 8; i++) {
		if (8 * i + 8 > header_bytes || from + 8 * i + 8 > end)
			break;
		*(__u64 *)(to + 8 * i) = *(__u64 *)(from + 8 * i);
	}
	from += header_bytes - 8;
	olaf_keep(from);
	if (from + 8 <= end)
		*(__u64 *)((void *)&entry->message - 8) = *(__u64 *)from;
}

/* The 48-byte header that protocol.md asks of a departing update. */
static __always_inline void olaf_message_write(struct olaf_header *header,
					       const struct olaf_pending *update)
{
	__u16 flags = update->flags;

	if (update->count > 1)
		flags |= OLAF_FLAG_AGGREGATED;
	header->magic_be = bpf_htons(OLAF_MAGIC);
	header->version = OLAF_VERSION;
	header->type = OLAF_UPDATE;
	header->flags_be = bpf_htons(flags);
	header->lanes_be = bpf_htons(update->lanes);
	header->cluster_be = bpf_htonl(update->cluster);
	header->worker_be = bpf_htonl(update->worker);
	header->sequence_be = bpf_htonl(update->sequence);
	header->count_be = bpf_htonl(update->count);
	header->generated_ns_be = bpf_cpu_to_be64(update->generated_ns);
	header->reward_be = bpf_cpu_to_be64(update->reward);
	header->model_version_be = bpf_htonl(update->model_version);
	header->segment_be = bpf_htons(update->segment);
	header->segments_be = bpf_htons(update->segments);
}

#endif /* OLAF_ENTRY_BPF_H */
