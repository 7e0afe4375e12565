/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_control: orders to running programs. Key 0, value struct olaf_control.
 * Writer: user space (`olaf detach`, `olaf attach --replace`), one command at a time, which
 * holds the lock of the pin directory. One 64-bit word, so that readers need no lock.
 */
#ifndef OLAF_CONTROL_BPF_H
#define OLAF_CONTROL_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_control);
} olaf_control SEC(".maps");

/*
 * Is the queue being emptied? Then an arrival that can go on doesn't wait. The order is a
 * lease: a command that dies stops renewing it, and the queue is what it was.
 */
static __always_inline int olaf_draining(__u64 now)
{
	struct olaf_control *control;
	__u32 zero = 0;

	control = bpf_map_lookup_elem(&olaf_control, &zero);
	return control && now < *(volatile __u64 *)&control->draining_until_ns;
}

#endif /* OLAF_CONTROL_BPF_H */
