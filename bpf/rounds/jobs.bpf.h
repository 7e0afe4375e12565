/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Maps of jobs, all sized by the loader, and empty without --round-slots.
 *
 * olaf_jobs: key index, value struct olaf_job. `setup` is written by olaf_job_order alone, before
 *   the job has an id and `state`; the rest as the struct says.
 * olaf_children: key olaf_child_index(), value struct olaf_child. Writers: XDP, from what arrives,
 *   and olaf_job_order.
 * olaf_job_counters: key index, one copy a CPU. Writers: our programs, each its own CPU's copy.
 */
#ifndef OLAF_ROUND_JOBS_BPF_H
#define OLAF_ROUND_JOBS_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/rounds.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* values begin on a page: cache lines are struct olaf_job's */
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct olaf_job);
} olaf_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OLAF_MAX_JOBS * OLAF_RANKS);
	__type(key, __u32);
	__type(value, struct olaf_child);
} olaf_children SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OLAF_MAX_JOBS);
	__type(key, __u32);
	__type(value, struct olaf_job_counters);
} olaf_job_counters SEC(".maps");

static __always_inline struct olaf_job *olaf_job_at(__u32 job_index)
{
	return bpf_map_lookup_elem(&olaf_jobs, &job_index);
}

/* The child's place; NULL: there is no such rank. */
static __always_inline struct olaf_child *olaf_child_at(__u32 job_index, __u32 rank)
{
	__u32 index = olaf_child_index(job_index, rank);

	if (rank >= OLAF_RANKS)
		return NULL;
	return bpf_map_lookup_elem(&olaf_children, &index);
}

static __always_inline struct olaf_job_counters *olaf_job_counters_at(__u32 job_index)
{
	return bpf_map_lookup_elem(&olaf_job_counters, &job_index);
}

/* olaf_count_job(job_index, field): adds one to a counter of this CPU, or `count` to it. */
#define olaf_count_job(job_index, field) olaf_count_job_by(job_index, field, 1)
#define olaf_count_job_by(job_index, field, count)                                     \
	do {                                                                           \
		struct olaf_job_counters *counters_ = olaf_job_counters_at(job_index); \
		if (counters_)                                                         \
			counters_->field += (count);                                   \
	} while (0)

/* A contribution is received, and this is what became of it (struct olaf_job_counters). */
#define olaf_count_contribution(job_index, outcome)                                    \
	do {                                                                           \
		struct olaf_job_counters *counters_ = olaf_job_counters_at(job_index); \
		if (counters_) {                                                       \
			counters_->received++;                                         \
			counters_->outcome++;                                          \
		}                                                                      \
	} while (0)

/* So many contributions complete a chunk at most. */
static __always_inline __u32 olaf_most_threshold(const struct olaf_job_setup *setup)
{
	return setup->flags & OLAF_JOB_ANY ? setup->max_count : setup->children;
}

/* Do the job's members contribute? Else they agree where to begin. */
static __always_inline int olaf_job_runs(const struct olaf_job *job)
{
	return READ_ONCE(job->state) == OLAF_JOB_RUNNING;
}

/* Has this node no parent for the job? */
static __always_inline int olaf_job_is_root(const struct olaf_job *job)
{
	return !job->setup.parent_family;
}

#endif /* OLAF_ROUND_JOBS_BPF_H */
