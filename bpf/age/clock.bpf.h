/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How far CLOCK_TAI, which workers stamp updates with, is ahead of CLOCK_MONOTONIC. Reading
 * both clocks costs as much as a departure may; the difference only changes when somebody
 * sets one of them, for both are slewed alike.
 *
 * Global data of each object, not shared. Writers: its programs, every OLAF_CLOCK_TTL_NS; two
 * at once write the same, so nothing orders them. The two words are read one by one: each is
 * right whichever write it is of.
 *
 * What the difference is wrong by is half of what passes between two readings, some 20 ns
 * (OLAF_CLOCK_GAP_NS at most); a clock that is set is followed within OLAF_CLOCK_TTL_NS.
 */
#ifndef OLAF_CLOCK_BPF_H
#define OLAF_CLOCK_BPF_H

#include "bpf/config.bpf.h"

#define OLAF_CLOCK_TTL_NS 10000000ULL
/* Two readings further apart than this were interrupted: the next departure tries again. */
#define OLAF_CLOCK_GAP_NS 1000

static volatile __s64 olaf_clock_offset_ns; /* TAI - monotonic */
static volatile __u64 olaf_clock_refreshed_ns; /* monotonic; 0: never */

__noinline int olaf_clock_refresh(void)
{
	__u64 before, tai, after;

	before = bpf_ktime_get_ns();
	tai = bpf_ktime_get_tai_ns();
	after = bpf_ktime_get_ns();
	/* The first reading is better than none. */
	if (olaf_clock_refreshed_ns && after - before > OLAF_CLOCK_GAP_NS)
		return 0;
	olaf_clock_offset_ns = tai - before - (after - before) / 2;
	olaf_clock_refreshed_ns = after;
	return 0;
}

/* TAI - monotonic, at most OLAF_CLOCK_TTL_NS old. `now` is monotonic. */
static __always_inline __s64 olaf_tai_offset(__u64 now)
{
	__u64 refreshed = olaf_clock_refreshed_ns;

	/* Refreshed by another CPU after we looked at the clock: fine. */
	if (!refreshed || (now > refreshed && now - refreshed > OLAF_CLOCK_TTL_NS))
		olaf_clock_refresh();
	return olaf_clock_offset_ns;
}

#endif /* OLAF_CLOCK_BPF_H */
