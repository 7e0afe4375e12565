/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every program of ours includes first: helpers, byte order, configuration. */
#ifndef OLAF_CONFIG_BPF_H
#define OLAF_CONFIG_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/address.bpf.h"
#include "bpf/once.bpf.h"
#include "olaf/queue.h"

/* What the kernel's helpers call the two IP versions. */
#define OLAF_AF_INET 2
#define OLAF_AF_INET6 10

/*
 * The one configuration. Read-only data: the verifier knows the values, so bounds
 * that come from it are proven and branches it rules out are removed.
 */
const volatile struct olaf_config olaf_cfg = {};

/*
 * The value, forced into low ... high by comparisons that the compiler can neither see
 * through nor move: what the verifier needs to know of an offset or a length. 32-bit,
 * because helpers take lengths so, and Linux 6.1 doesn't carry 64-bit bounds over.
 */
static __always_inline __u32 olaf_clamp(__u32 value, __u32 low, __u32 high)
{
	asm volatile("if %[value] >= %[low] goto +1\n"
		     "%[value] = %[low]\n"
		     "if %[value] <= %[high] goto +1\n"
		     "%[value] = %[high]\n"
		     : [value] "+w"(value)
		     : [low] "w"(low), [high] "w"(high));
	return value;
}

/*
 * Is this MAC address the configured one? Read as volatile: through a plain pointer the
 * compiler may take the configuration for the zeros that it is initialised with.
 */
static __always_inline int olaf_is_mac(const void *mac, const volatile void *configured)
{
	const volatile __be16 *ours = configured;

	return ((const __be16 *)mac)[0] == ours[0] && ((const __be16 *)mac)[1] == ours[1] &&
	       ((const __be16 *)mac)[2] == ours[2];
}

/* Keeps a pointer, or a sum, one value: a bound proven for it holds where it is used. */
#define olaf_keep(value) asm volatile("" : "+r"(value))

#define OLAF_MIN_HEADERS 42 /* Ethernet, IPv4, UDP */

/* Most bytes from the start of an entry's headers to the end of its lanes. */
#define OLAF_MAX_FRAME \
	((__u32)(OLAF_MAX_HEADERS + sizeof(struct olaf_header) + 8 * olaf_cfg.max_lanes))

/* First byte of an entry's frame, whose headers end where its message begins. */
static __always_inline void *olaf_frame_of(struct olaf_entry *entry, __u32 header_bytes)
{
	return entry->headers + ((OLAF_MAX_HEADERS - header_bytes) & (OLAF_MAX_HEADERS - 1));
}

static __always_inline __u32 olaf_slots_configured(void)
{
	return olaf_cfg.max_clusters * olaf_cfg.max_segments;
}

/* Does this entry belong to a slot's buffer, and not to a place of the ring? */
static __always_inline int olaf_entry_is_buffer(__u32 entry)
{
	return entry < OLAF_BUFFERS * olaf_slots_configured();
}

#endif /* OLAF_CONFIG_BPF_H */
