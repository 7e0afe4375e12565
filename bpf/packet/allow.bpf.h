/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_allow: the sources of --allow. Key struct olaf_prefix, value unused.
 * Writer: user space, before attaching. Looked at only with OLAF_CONFIG_ALLOW_LIST.
 */
#ifndef OLAF_ALLOW_BPF_H
#define OLAF_ALLOW_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct olaf_prefix);
	__type(value, __u32);
} olaf_allow SEC(".maps");

/* Source address of the message at hand, IPv4 mapped into ::ffff:0:0/96. 0, or negative. */
static __always_inline int olaf_source(struct xdp_md *ctx, const struct olaf_arrival *a,
				       struct olaf_prefix *source)
{
	source->prefix_bits = 128;
	if (a->update.family == 6)
		return bpf_xdp_load_bytes(ctx, a->update.l3_offset + 8, source->address, 16);
	source->address[10] = 0xff;
	source->address[11] = 0xff;
	return bpf_xdp_load_bytes(ctx, a->update.l3_offset + 12, &source->address[12], 4);
}

/* Is the source of the message at hand allowed? */
static __always_inline int olaf_sender_allowed(struct xdp_md *ctx, const struct olaf_arrival *a)
{
	struct olaf_prefix source = {};

	if (!(olaf_cfg.flags & OLAF_CONFIG_ALLOW_LIST))
		return 1;
	return !olaf_source(ctx, a, &source) && bpf_map_lookup_elem(&olaf_allow, &source) != NULL;
}

#endif /* OLAF_ALLOW_BPF_H */
