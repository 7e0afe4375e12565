/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_job_ids: key job id, value its index in the maps of jobs. Writer: olaf_job_order.
 */
#ifndef OLAF_JOB_IDS_BPF_H
#define OLAF_JOB_IDS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/rounds.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, __u32);
} olaf_job_ids SEC(".maps");

/* Index of the job with that id, or -1. */
static __always_inline __s32 olaf_job_find(__u32 id)
{
	__u32 *index = bpf_map_lookup_elem(&olaf_job_ids, &id);

	return index && *index < OLAF_MAX_JOBS ? (__s32)*index : -1;
}

#endif /* OLAF_JOB_IDS_BPF_H */
