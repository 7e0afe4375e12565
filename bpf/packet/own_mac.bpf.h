/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is this MAC address this host's own?
 *
 * Map olaf_own_macs: key struct olaf_own_mac, value unused. Writer: user space alone, as for
 * olaf_own (own.bpf.h).
 */
#ifndef OLAF_OWN_MAC_BPF_H
#define OLAF_OWN_MAC_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/own.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OLAF_MOST_OWN);
	__type(key, struct olaf_own_mac);
	__type(value, __u32);
} olaf_own_macs SEC(".maps");

/* `mac` may point into a frame, where six bytes are proven readable. */
static __always_inline int olaf_is_own_mac(const void *mac)
{
	struct olaf_own_mac key = {};

	__builtin_memcpy(key.mac, mac, sizeof(key.mac));
	return bpf_map_lookup_elem(&olaf_own_macs, &key) != NULL;
}

#endif /* OLAF_OWN_MAC_BPF_H */
