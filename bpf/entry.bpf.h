/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_entries: the waiting updates themselves.
 *
 * Key: 2 x slot + buffer for policies that fold; 2 x slots + place for those that
 * don't. Value struct olaf_entry with max_lanes lanes (OLAF_ENTRY_BYTES).
 * Writers: arrivals, under the lock of the slot that the update belongs to, while the
 * entry is free or open. Once its place is LEAVING it belongs to the one CPU that
 * popped it, which reads and rewrites it without a lock until it frees the place.
 *
 * Map olaf_scratch: key 0, one copy a CPU, laid out like an entry. Where an arriving
 * frame is staged when helpers must copy it (they can't be called under a lock).
 */
#ifndef OLAF_ENTRY_BPF_H
#define OLAF_ENTRY_BPF_H

#include "packet.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2); /* 2 x slots + ring_places, set by the loader */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ENTRY_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ENTRY_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_scratch SEC(".maps");

static __always_inline struct olaf_entry *olaf_entry_at(__u32 index)
{
	return bpf_map_lookup_elem(&olaf_entries, &index);
}

static __always_inline struct olaf_entry *olaf_staging(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_scratch, &zero);
}

/* First byte of an entry's frame, whose headers end where its message begins. */
static __always_inline void *olaf_frame_of(struct olaf_entry *entry, __u32 header_bytes)
{
	return entry->headers + ((OLAF_MAX_HEADERS - header_bytes) & (OLAF_MAX_HEADERS - 1));
}

/*
 * Loads `bytes` of the arriving frame into the staging area, so that its headers end
 * where an entry's do: the headers alone, or the message with them. NULL: can't be.
 */
static __always_inline struct olaf_entry *olaf_stage(struct xdp_md *ctx, __u32 header_bytes,
						     __u32 bytes)
{
	struct olaf_entry *staged = olaf_staging();

	if (!staged || header_bytes > OLAF_MAX_HEADERS || bytes > OLAF_MAX_FRAME)
		return NULL;
	bytes = olaf_clamp(bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if (bpf_xdp_load_bytes(ctx, 0, olaf_frame_of(staged, header_bytes), bytes))
		return NULL;
	return staged;
}

/* Copies a whole field of headers: constant size, so it may run under a lock. */
static __always_inline void olaf_headers_copy(struct olaf_entry *to, const struct olaf_entry *from)
{
	__u64 *t = (__u64 *)to->headers;
	const __u64 *f = (const __u64 *)from->headers;
	int i;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_MAX_HEADERS / 8; i++)
		t[i] = f[i];
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
