/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_gate: is the way out there?
 *
 * Key 0, value struct olaf_gate. Writers: the loss programs tell what the way out refused; who
 * sends notes that it tried. Nothing orders them: each word is written whole, and a later time
 * replaces an earlier one.
 */
#ifndef OLAF_GATE_BPF_H
#define OLAF_GATE_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_gate);
} olaf_gate SEC(".maps");

/* The way out refused a frame: it is down, has no carrier, or is gone. */
static __always_inline void olaf_gate_lost(__u64 now)
{
	struct olaf_gate *gate;
	__u32 zero = 0;

	gate = bpf_map_lookup_elem(&olaf_gate, &zero);
	if (gate)
		*(volatile __u64 *)&gate->lost_ns = now;
}

#endif /* OLAF_GATE_BPF_H */
