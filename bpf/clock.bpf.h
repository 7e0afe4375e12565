/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_clock: how far CLOCK_TAI, which workers stamp updates with, is ahead of
 * CLOCK_MONOTONIC. Key 0, value struct olaf_clock. Writers: our programs, every
 * OLAF_CLOCK_TTL_NS; two at once write the same, so nothing orders them. The two words are
 * read one by one: both are right whichever they are of.
 *
 * Both clocks are slewed alike, so the difference holds until somebody sets one of them: that
 * is seen within OLAF_CLOCK_TTL_NS. What it is wrong by is half of what passes between two
 * readings, some 20 ns (OLAF_CLOCK_GAP_NS at most).
 */
#ifndef OLAF_CLOCK_BPF_H
#define OLAF_CLOCK_BPF_H

#include "config.bpf.h"
#include "olaf/aom.h"

#define OLAF_CLOCK_TTL_NS 10000000ULL
/* Two readings further apart than this were interrupted: the next departure tries again. */
#define OLAF_CLOCK_GAP_NS 1000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_clock);
} olaf_clock SEC(".maps");

__noinline int olaf_clock_refresh(void)
{
	__u64 before, tai, after;
	struct olaf_clock *clock;
	__u32 zero = 0;

	clock = bpf_map_lookup_elem(&olaf_clock, &zero);
	if (!clock)
		return -1;
	before = bpf_ktime_get_ns();
	tai = bpf_ktime_get_tai_ns();
	after = bpf_ktime_get_ns();
	/* The first reading is better than none. */
	if (clock->refreshed_ns && after - before > OLAF_CLOCK_GAP_NS)
		return 0;
	*(volatile __s64 *)&clock->tai_offset_ns = tai - before - (after - before) / 2;
	*(volatile __u64 *)&clock->refreshed_ns = after;
	return 0;
}

/* TAI - monotonic, at most OLAF_CLOCK_TTL_NS old. `now` is monotonic. */
static __always_inline __s64 olaf_tai_offset(__u64 now)
{
	struct olaf_clock *clock;
	__u64 refreshed;
	__u32 zero = 0;

	clock = bpf_map_lookup_elem(&olaf_clock, &zero);
	if (!clock)
		return 0;
	refreshed = *(volatile __u64 *)&clock->refreshed_ns;
	/* Refreshed by another CPU after we looked at the clock: fine. */
	if (!refreshed || (now > refreshed && now - refreshed > OLAF_CLOCK_TTL_NS))
		olaf_clock_refresh();
	return *(volatile __s64 *)&clock->tai_offset_ns;
}

#endif /* OLAF_CLOCK_BPF_H */
