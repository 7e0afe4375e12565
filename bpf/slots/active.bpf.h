/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_active: how many clusters are active. Key 0, value struct
 * olaf_active. Writers: our XDP programs, under its lock.
 */
#ifndef OLAF_ACTIVE_BPF_H
#define OLAF_ACTIVE_BPF_H

#include "bpf/lock.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_active);
} olaf_active SEC(".maps");

#endif /* OLAF_ACTIVE_BPF_H */
