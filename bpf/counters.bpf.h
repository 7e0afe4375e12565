/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_counters: what isn't an event of one slot. What goes wrong is counted by
 * bpf/troubles.bpf.h.
 *
 * Key 0. Value struct olaf_counters, one copy a CPU. Writers: our programs, each its
 * own CPU's copy; they run in softirq context, which doesn't preempt itself, so plain
 * increments are exact. Readers: user space, which sums the copies.
 */
#ifndef OLAF_COUNTERS_BPF_H
#define OLAF_COUNTERS_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_counters);
} olaf_counters SEC(".maps");

static __always_inline struct olaf_counters *olaf_counters_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_counters, &zero);
}

/* olaf_count(field): adds one to a counter of this CPU. */
#define olaf_count(field)                                            \
	do {                                                         \
		struct olaf_counters *counters_ = olaf_counters_here(); \
		if (counters_)                                       \
			counters_->field++;                          \
	} while (0)

/* Counts an update that is well formed and allowed; its outcome is counted by its slot. */
static __always_inline void olaf_count_received(__u32 updates)
{
	struct olaf_counters *counters = olaf_counters_here();

	if (!counters)
		return;
	counters->received++;
	counters->updates_in += updates;
}

#endif /* OLAF_COUNTERS_BPF_H */
