/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_control: orders to running programs. Key 0, value struct olaf_control.
 * Writer: user space (`olaf detach`).
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

/* Is the queue being emptied? Then nothing new may wait. */
static __always_inline int olaf_draining(void)
{
	struct olaf_control *control;
	__u32 zero = 0;

	control = bpf_map_lookup_elem(&olaf_control, &zero);
	return control && *(volatile __u32 *)&control->draining;
}

#endif /* OLAF_CONTROL_BPF_H */
