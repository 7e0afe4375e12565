// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What `olaf cluster` does to members, as a program that user space runs: it obeys the
 * order of writers (members.bpf.h) as a map update from user space can't, and unlike a
 * process it is never killed halfway.
 */
#include "bpf/ack/members.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct olaf_forgetting {
	__u32 cluster;
	__u32 busy; /* 1: a member was being written; no count, which the verifier would follow */
};

/* 0, -EAGAIN: being written, ask again; -ENOENT: no place for it. */
static int olaf_enrol_worker(const struct olaf_registration *asked)
{
	struct olaf_member *member = olaf_member_at(asked->cluster, asked->worker);

	int error;

	if (!member)
		return -ENOENT;
	error = olaf_member_register(member, asked->family, asked->addr_be, asked->port_be);
	if (error)
		return error;
	olaf_roster_raise(asked->cluster, asked->worker);
	return 0;
}

static long olaf_forget_one(__u32 worker, struct olaf_forgetting *forgetting)
{
	struct olaf_member *member = olaf_member_at(forgetting->cluster, worker);

	if (!member)
		return 1;
	if (!olaf_member_open(member)) {
		forgetting->busy = 1;
		return 0;
	}
	olaf_member_clear(member);
	olaf_member_close(member);
	return 0;
}

/* 0, or -EAGAIN: some are being written, ask again. */
static int olaf_forget(__u32 cluster)
{
	struct olaf_forgetting forgetting = { .cluster = cluster };
	struct olaf_roster *roster = bpf_map_lookup_elem(&olaf_rosters, &cluster);

	if (!roster)
		return -ENOENT;
	/* First, so that whoever is learnt from here on raises it again. */
	WRITE_ONCE(roster->end, 0);
	bpf_loop(olaf_cfg.max_workers, olaf_forget_one, &forgetting, 0);
	return forgetting.busy ? -EAGAIN : 0;
}

SEC("syscall")
int olaf_enrol(struct olaf_registration *asked)
{
	/* A copy: what is asked for stays what was checked. */
	struct olaf_registration mine = *asked;

	if (mine.enrolment == OLAF_ENROL_REGISTER)
		return olaf_enrol_worker(&mine);
	if (mine.enrolment == OLAF_ENROL_FORGET)
		return olaf_forget(mine.cluster);
	return -EINVAL;
}
