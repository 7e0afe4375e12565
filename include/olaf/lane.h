/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a token may be on its way through the drain lane: what its programs and the
 * loader, which shapes the lane, must agree on.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_LANE_H
#define OLAF_LANE_H

#include <linux/types.h>

#define OLAF_TOKEN_MIN_BYTES 128 /* the lane lets through so many every drain interval */
#define OLAF_TOKEN_MAX_TICKS 64 /* drain intervals that one turn may take */
#define OLAF_TOKEN_MAX_BYTES (OLAF_TOKEN_MAX_TICKS * OLAF_TOKEN_MIN_BYTES)

/* A token that needn't be back at once is away for no longer, or for one drain interval. */
#define OLAF_LONGEST_TURN_NS 6400000ULL

/* Drain intervals that the longest turn takes. */
static inline __u64 olaf_longest_ticks(__u64 drain_interval_ns)
{
	__u64 ticks = drain_interval_ns ? OLAF_LONGEST_TURN_NS / drain_interval_ns : 1;

	if (ticks < 1)
		return 1;
	return ticks < OLAF_TOKEN_MAX_TICKS ? ticks : OLAF_TOKEN_MAX_TICKS;
}

static inline __u64 olaf_longest_turn_ns(__u64 drain_interval_ns)
{
	return olaf_longest_ticks(drain_interval_ns) * drain_interval_ns;
}

#endif /* OLAF_LANE_H */
