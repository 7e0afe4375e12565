/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The staging area: an arriving frame laid out like an entry, where its bytes are needed in one
 * piece, or an entry's code is to run on it.
 *
 * Map olaf_scratch: key 0, value struct olaf_entry with max_lanes lanes (OLAF_ENTRY_BYTES), one
 * copy a CPU. Writer and reader: the XDP program, for the frame it runs on.
 */
#ifndef OLAF_STAGING_BPF_H
#define OLAF_STAGING_BPF_H

#include <linux/if_ether.h>

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ENTRY_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_scratch SEC(".maps");

static __always_inline struct olaf_entry *olaf_staging(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_scratch, &zero);
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

#endif /* OLAF_STAGING_BPF_H */
