/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_rules: what each cluster's updates are judged by. Key cluster, value struct olaf_rule.
 * Writer: user space only (`olaf cluster`). Each field is read on its own, so a change takes
 * effect field by field, between two updates of a packet at the latest.
 */
#ifndef OLAF_RULES_BPF_H
#define OLAF_RULES_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* max_clusters, set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_rule);
} olaf_rules SEC(".maps");

static __always_inline struct olaf_rule *olaf_rule_of(__u32 cluster)
{
	return bpf_map_lookup_elem(&olaf_rules, &cluster);
}

#endif /* OLAF_RULES_BPF_H */
