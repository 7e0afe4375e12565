/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_allow: the sources of --allow. Key struct olaf_prefix, value unused.
 * Writer: user space, before attaching. Looked at only with OLAF_CONFIG_ALLOW_LIST.
 */
#ifndef OLAF_ALLOW_BPF_H
#define OLAF_ALLOW_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct olaf_prefix);
	__type(value, __u32);
} olaf_allow SEC(".maps");

/* Is this source allowed? IPv4 is looked up mapped into ::ffff:0:0/96. */
static __always_inline int olaf_source_allowed(const struct olaf_prefix *source)
{
	if (!(olaf_cfg.flags & OLAF_CONFIG_ALLOW_LIST))
		return 1;
	return bpf_map_lookup_elem(&olaf_allow, source) != NULL;
}

#endif /* OLAF_ALLOW_BPF_H */
