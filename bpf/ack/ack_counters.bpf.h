/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_ack_counters: what became of ACKs.
 *
 * Key 0. Value struct olaf_ack_counters, one copy a CPU. Writers: our TC programs, each
 * its own CPU's copy, with softirqs off: plain increments are exact. Readers: user
 * space, which sums the copies.
 */
#ifndef OLAF_ACK_COUNTERS_BPF_H
#define OLAF_ACK_COUNTERS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/acks.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_ack_counters);
} olaf_ack_counters SEC(".maps");

static __always_inline struct olaf_ack_counters *olaf_ack_counters_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_ack_counters, &zero);
}

/* olaf_count_ack(field): adds one to a counter of this CPU. */
#define olaf_count_ack(field)                                                  \
	do {                                                                   \
		struct olaf_ack_counters *counters_ = olaf_ack_counters_here(); \
		if (counters_)                                                 \
			counters_->field++;                                    \
	} while (0)

#endif /* OLAF_ACK_COUNTERS_BPF_H */
