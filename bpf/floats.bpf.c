// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Contributions of a job that sums floats. rounds.bpf.c calls it with each, once it knows the job and
 * the message fits: from there on it is as with integers, but for how lanes are added.
 */
#include "bpf/rounds/floats.bpf.h"
#include "bpf/rounds/child.bpf.h"
#include "bpf/rounds/end.bpf.h"
#include "bpf/rounds/table.bpf.h"
#include "bpf/troubles.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("xdp.frags")
int olaf_floats(struct xdp_md *ctx)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_job *job;
	int act;

	if (!a || !m)
		return XDP_DROP;
	job = olaf_job_at(m->job);
	if (!job)
		return XDP_DROP;
	act = olaf_child_meet(ctx, a, m);
	if (act == OLAF_CHILD_KNOWN)
		act = olaf_contribute(ctx, a, m, job);
	return olaf_round_end(ctx, a, m, job, act);
}
