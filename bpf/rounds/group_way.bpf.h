/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way of a result that leaves in one frame for all members: to port olaf_cfg.port_be of their
 * group.
 */
#ifndef OLAF_ROUND_GROUP_WAY_BPF_H
#define OLAF_ROUND_GROUP_WAY_BPF_H

#include "bpf/rounds/frame.bpf.h"
#include "bpf/rounds/group.bpf.h"

/* The Ethernet address of a group: RFC 1112 and RFC 2464. */
static __always_inline void olaf_group_mac(__u8 mac[ETH_ALEN], const __be32 addr_be[4],
					   __u32 family)
{
	__u32 low = bpf_ntohl(family == 4 ? addr_be[0] : addr_be[3]);

	mac[0] = family == 4 ? 0x01 : 0x33;
	mac[1] = family == 4 ? 0x00 : 0x33;
	mac[2] = family == 4 ? 0x5e : low >> 24;
	mac[3] = family == 4 ? low >> 16 & 0x7f : low >> 16;
	mac[4] = low >> 8;
	mac[5] = low;
}

/*
 * Turns the way to the lowest member into the way to all: from the address that it sends to and with
 * its VLAN tags, but to the group. Returns whether that is possible. A function by itself, because its
 * registers would lie on the stack of whoever writes a result.
 */
static __noinline int olaf_group_way(const struct olaf_job *job, struct olaf_round_way *way)
{
	if (!job || !way || way->family != job->setup.group_family)
		return 0;
	olaf_address_copy(way->ends.daddr_be, job->setup.group_addr_be);
	way->ends.dest_be = olaf_cfg.port_be;
	olaf_group_mac(way->dmac, job->setup.group_addr_be, way->family);
	return 1;
}

/* The way to a rank, or with OLAF_EVERY_WORKER to all members of a round. Returns whether there is one. */
static __always_inline int olaf_result_way(const struct olaf_job *job, __u32 job_index, __u32 rank,
					   __u32 round, struct olaf_round_way *way)
{
	if (rank != OLAF_EVERY_WORKER)
		return olaf_child_way(job_index, rank, way);
	return olaf_child_way(job_index, olaf_lowest_member(job, round), way) &&
	       olaf_group_way(job, way);
}

/*
 * A staged frame for all travels as far as the job says. UDP's checksum doesn't know of it, IPv4's does
 * (RFC 1624).
 */
static __always_inline void olaf_limit_hops(struct olaf_entry *staged, const struct olaf_job *job)
{
	struct olaf_headers4 *h4 = (void *)&staged->message - sizeof(*h4);
	struct olaf_headers6 *h6 = (void *)&staged->message - sizeof(*h6);
	__u32 hops = job->setup.group_hops;
	__u64 sum;

	if (job->setup.group_family == 6) {
		h6->ip.hop_limit = hops;
		return;
	}
	sum = (__u16)~h4->ip.check;
	sum += (__u16)~bpf_htons(OLAF_HOP_LIMIT << 8);
	sum += bpf_htons(hops << 8);
	h4->ip.ttl = hops;
	h4->ip.check = olaf_checksum_fold(sum);
}

#endif /* OLAF_ROUND_GROUP_WAY_BPF_H */
