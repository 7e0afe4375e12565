/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every program of ours includes first: helpers, byte order, configuration. */
#ifndef OLAF_CONFIG_BPF_H
#define OLAF_CONFIG_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "olaf/queue.h"

/*
 * The one configuration. Read-only data: the verifier knows the values, so bounds
 * that come from it are proven and branches it rules out are removed.
 */
const volatile struct olaf_config olaf_cfg = {};

/*
 * Leaves by `otherwise` unless low <= variable <= high. Two comparisons that the
 * compiler may not merge into one of (variable - low): the verifier wouldn't learn the
 * bounds of the variable from that.
 */
#define OLAF_BOUND(variable, low, high, otherwise)              \
	do {                                                    \
		if ((variable) < (low))                         \
			otherwise;                              \
		asm volatile("" : "+r"(variable));              \
		if ((variable) > (high))                        \
			otherwise;                              \
		asm volatile("" : "+r"(variable));              \
	} while (0)

/* Most bytes from the start of an entry's headers to the end of its lanes. */
#define OLAF_MAX_FRAME \
	(OLAF_MAX_HEADERS + sizeof(struct olaf_header) + 8 * (__u64)olaf_cfg.max_lanes)

static __always_inline __u32 olaf_slots_configured(void)
{
	return olaf_cfg.max_clusters * olaf_cfg.max_segments;
}

#endif /* OLAF_CONFIG_BPF_H */
