/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_arrivals: the frame at hand. Key 0, value struct olaf_arrival (claim.bpf.h), one copy a CPU.
 * Writer and reader: the XDP program, or the one at the device of a job's parent (parent.bpf.c), for the
 * frame that it runs on. It is a map, not the stack, so that the verifier sees one state after parsing and
 * not one for each kind of header.
 */
#ifndef OLAF_ARRIVAL_BPF_H
#define OLAF_ARRIVAL_BPF_H

#include "bpf/claim.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_arrival);
} olaf_arrivals SEC(".maps");

static __always_inline struct olaf_arrival *olaf_arrival_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_arrivals, &zero);
}

#endif /* OLAF_ARRIVAL_BPF_H */
