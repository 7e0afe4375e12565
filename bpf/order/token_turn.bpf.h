/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A turn of the token in the drain: how long it takes, and when it is late.
 */
#ifndef OLAF_TOKEN_TURN_BPF_H
#define OLAF_TOKEN_TURN_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/drain.h"

/* The token is late when it hasn't come back this long after it should have. */
#define OLAF_TOKEN_GRACE_NS 20000000ULL

/* The wait of a token that is away for the longest turn. */
#define OLAF_TOKEN_LONGEST_WAIT 0x7fffffffffffULL

/* Drain intervals that a token is away for which should come back in `wait` nanoseconds. */
static __always_inline __u64 olaf_token_ticks(__u64 wait)
{
	__u64 interval = olaf_cfg.drain_interval_ns, longest = olaf_longest_ticks(interval);
	__u64 ticks;

	if (!interval || wait <= interval)
		return 1;
	ticks = (wait + interval - 1) / interval;
	return ticks < longest ? ticks : longest;
}

/* When it is late: its turn is over, and so is the time that a busy machine may add. */
static __always_inline __u64 olaf_token_deadline(__u64 now, __u64 wait)
{
	return now + olaf_token_ticks(wait) * olaf_cfg.drain_interval_ns + OLAF_TOKEN_GRACE_NS;
}

#endif /* OLAF_TOKEN_TURN_BPF_H */
