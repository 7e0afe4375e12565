/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is this IP address this host's own?
 *
 * Map olaf_own: key struct olaf_own_address, value unused. Writer: user space alone, under the
 * lock of the pin directory. It adds what is new before it removes what is gone, so an address
 * that the host keeps is never missing. It writes before a program that asks goes live.
 */
#ifndef OLAF_OWN_BPF_H
#define OLAF_OWN_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/own.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, OLAF_MOST_OWN);
	__type(key, struct olaf_own_address);
	__type(value, __u32);
} olaf_own SEC(".maps");

/* The address as olaf_own has it. `addr_be` is of that IP version; IPv4 in [0]. */
static __always_inline void olaf_map_address(__be32 mapped_be[4], const __be32 addr_be[4],
					     __u32 family)
{
	if (family == 4) {
		mapped_be[0] = 0;
		mapped_be[1] = 0;
		mapped_be[2] = bpf_htonl(0xffff);
		mapped_be[3] = addr_be[0];
		return;
	}
	olaf_address_copy(mapped_be, addr_be);
}

/* `mapped_be` is what olaf_map_address() writes. It lies on the stack or in a map. */
static __always_inline int olaf_is_own_address(const __be32 mapped_be[4])
{
	return bpf_map_lookup_elem(&olaf_own, mapped_be) != NULL;
}

#endif /* OLAF_OWN_BPF_H */
