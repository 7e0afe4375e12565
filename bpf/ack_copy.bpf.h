/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of an ACK for every worker of its cluster (OLAF paper, section 7, downlink).
 *
 * The skb is turned to one member after the other, and a clone of it sent to each. What
 * it weighs, the lanes, all share. It becomes at last the copy of the member that it was
 * addressed to; if that is none of them it goes on to its addressee, as it came.
 *
 * A clone leaves by the device at once, and meets our program on its way: ack->copying
 * lets it pass. Filters of others see every copy.
 */
#ifndef OLAF_ACK_COPY_BPF_H
#define OLAF_ACK_COPY_BPF_H

#include <linux/pkt_cls.h>

#include "ack_counters.bpf.h"
#include "ack_way.bpf.h"
#include "members.bpf.h"

static __always_inline int olaf_way_leads_to(const struct olaf_way *way,
					     const struct olaf_member *member)
{
	return way->family == member->family && way->dest_be == member->port_be &&
	       way->daddr_be[0] == member->addr_be[0] && way->daddr_be[1] == member->addr_be[1] &&
	       way->daddr_be[2] == member->addr_be[2] && way->daddr_be[3] == member->addr_be[3];
}

/* Lays ack->next out to a member that has been heard. Returns 0, or -1: it can't be reached. */
static __always_inline int olaf_way_to(struct olaf_ack *ack, const struct olaf_member *member,
				       __u32 worker)
{
	struct olaf_way *next = &ack->next;
	int i;

	if (member->family != ack->origin.family || !member->last_seen_ns)
		return -1;
	*next = ack->origin;
	__builtin_memcpy(next->dmac, member->mac, ETH_ALEN);
	for (i = 0; i < 4; i++)
		next->daddr_be[i] = member->addr_be[i];
	next->dest_be = member->port_be;
	next->worker_be = bpf_htonl(worker);
	/* No tag seen may mean that the device took it off: then the ACK's own are right. */
	if (!member->tags && (olaf_cfg.flags & OLAF_CONFIG_TAGS_HIDDEN))
		return 0;
	next->tags = member->tags;
	next->tag[0] = member->tag[0];
	next->tag[1] = member->tag[1];
	next->tag[2] = (struct olaf_tag){};
	return 0;
}

/* Sends a copy to a worker, if it is a member. Returns nothing of interest: see ack->broken. */
__noinline int olaf_copy_to(struct __sk_buff *skb, __u32 worker)
{
	struct olaf_ack *ack = olaf_ack_here();
	struct olaf_member *place, member;

	if (!ack)
		return 0;
	place = olaf_member_at(bpf_ntohl(ack->message.cluster_be), worker);
	if (!place || !*(volatile __u8 *)&place->family)
		return 0;
	if (!olaf_member_read(place, &member)) {
		olaf_count_ack(copies_unreachable);
		return 0;
	}
	if (!olaf_member_is_live(&member, ack->now_ns, olaf_cfg.member_timeout_ns))
		return 0;
	if (!ack->heir && olaf_way_leads_to(&ack->origin, &member)) {
		ack->heir = 1 + worker;
		return 0;
	}
	if (olaf_way_to(ack, &member, worker)) {
		olaf_count_ack(copies_unreachable);
		return 0;
	}
	if (olaf_ack_turn(skb))
		return 0;
	if (bpf_clone_redirect(skb, olaf_cfg.ifindex, 0)) {
		olaf_count_ack(copies_refused);
	} else {
		olaf_count_ack(copies);
	}
	ack->copies++;
	return 0;
}

struct olaf_copying {
	struct __sk_buff *skb;
};

static long olaf_copy_next(__u32 worker, struct olaf_copying *copying)
{
	struct olaf_ack *ack = olaf_ack_here();

	olaf_copy_to(copying->skb, worker);
	return !ack || ack->broken;
}

/* The copies are made: what becomes of the ACK itself? Returns a TC verdict. */
static __always_inline int olaf_copy_end(struct __sk_buff *skb, struct olaf_ack *ack)
{
	if (ack->broken)
		goto unfit;
	ack->next = ack->origin;
	if (ack->heir)
		ack->next.worker_be = bpf_htonl(ack->heir - 1);
	else if (ack->copies && (ack->origin.dmac[0] & 1))
		return TC_ACT_STOLEN; /* to a group, which the copies have reached */
	if ((ack->copies || ack->heir) && olaf_ack_turn(skb))
		goto unfit;
	return TC_ACT_UNSPEC;
unfit:
	olaf_count_ack(copies_unfit);
	return TC_ACT_SHOT;
}

/* Copies an ACK that is for every worker. Returns a TC verdict for the ACK itself. */
static __always_inline int olaf_ack_copy(struct __sk_buff *skb, struct olaf_ack *ack)
{
	struct olaf_copying copying = { .skb = skb };
	__u32 end;

	if (ack->message.worker_be != bpf_htonl(OLAF_EVERY_WORKER))
		return TC_ACT_UNSPEC;
	end = olaf_roster_end(bpf_ntohl(ack->message.cluster_be));
	if (!end || olaf_forget_device_sum(skb) || olaf_way_read(skb, ack, &ack->origin))
		return TC_ACT_UNSPEC;
	ack->here = ack->origin;
	ack->now_ns = bpf_ktime_get_ns();
	ack->heir = 0;
	ack->copies = 0;
	ack->broken = 0;
	ack->copying = 1;
	bpf_loop(end, olaf_copy_next, &copying, 0);
	ack->copying = 0;
	if (ack->copies)
		olaf_count_ack(copied);
	return olaf_copy_end(skb, ack);
}

#endif /* OLAF_ACK_COPY_BPF_H */
