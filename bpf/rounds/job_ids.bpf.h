/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_job_ids: key job id, value its index in the maps of jobs. Writer: olaf_job_order.
 */
#ifndef OLAF_ROUND_JOB_IDS_BPF_H
#define OLAF_ROUND_JOB_IDS_BPF_H

#include "bpf/rounds/jobs.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, __u32);
} olaf_job_ids SEC(".maps");

/*
 * The job with that id, or NULL: nearly always it is the one at *index, which this CPU saw last. Else
 * *index becomes its own. A job that is being set or removed is in state NONE, and not taken so.
 */
static __always_inline struct olaf_job *olaf_job_of(__u32 id, __u32 *index)
{
	struct olaf_job *job = olaf_job_at(*index);
	__u32 *found;

	if (job && READ_ONCE(job->state) != OLAF_JOB_NONE && job->setup.id == id)
		return job;
	found = bpf_map_lookup_elem(&olaf_job_ids, &id);
	if (!found || *found >= OLAF_MAX_JOBS)
		return NULL;
	*index = *found;
	return olaf_job_at(*found);
}

#endif /* OLAF_ROUND_JOB_IDS_BPF_H */
