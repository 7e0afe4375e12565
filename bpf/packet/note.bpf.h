/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_beside: key 0, OLAF_BESIDE_*, one copy a CPU: the note that a tracepoint leaves of an
 * skb. Writers: the tracepoint, then the XDP program, which takes the note away; both in one go for
 * the same skb, in softirq.
 */
#ifndef OLAF_NOTE_BPF_H
#define OLAF_NOTE_BPF_H

#include "bpf/packet/beside.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} olaf_beside SEC(".maps");

/* Takes the note of the frame at hand, so that no later frame finds it. OLAF_BESIDE_*. */
static __always_inline __u32 olaf_note_take(void)
{
	__u32 zero = 0, *note, beside;

	if (!(olaf_cfg.flags & OLAF_CONFIG_SKB_MODE))
		return 0;
	note = bpf_map_lookup_elem(&olaf_beside, &zero);
	if (!note)
		return 0;
	beside = *note;
	*note = 0;
	return beside;
}

#endif /* OLAF_NOTE_BPF_H */
