/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of an ACK for every worker of its cluster (OLAF paper, section 7, downlink).
 *
 * The skb is turned to one member after the other, and a clone of it sent to each. The
 * clones share the payload, which is most of it. In the end the skb becomes the copy of the
 * member that it was addressed to; if that is none of them it goes on to its addressee, as it
 * came.
 *
 * A clone leaves by the device at once, and meets our program on its way: ack->copying
 * lets it pass. Filters of others see every copy.
 *
 * Map olaf_reached: where the ACK at hand has gone, so that no address and port gets two copies of it,
 * however many workers are said to be there. A hash table with open addressing; key: a place. Value struct
 * olaf_reached, one copy a CPU. Writer and reader: our TC programs, for the skb they run on, with softirqs
 * off. Nothing is ever cleared: a place that names another ACK is free. The hash is keyed with the queue's
 * secret: else a stranger could choose addresses that fall together, and crowd a worker out.
 */
#ifndef OLAF_ACK_COPY_BPF_H
#define OLAF_ACK_COPY_BPF_H

#include <linux/pkt_cls.h>

#include "bpf/ack/ack_counters.bpf.h"
#include "bpf/ack/ack_source.bpf.h"
#include "bpf/ack/ack_way.bpf.h"
#include "bpf/ack/members.bpf.h"
#include "bpf/fib.bpf.h"

/* Places looked at. At most half are taken, so that one fails in 2^32 at the worst. */
#define OLAF_REACHED_LOOKS 32

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* olaf_reached_places(max_workers), set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_reached);
} olaf_reached SEC(".maps");

enum olaf_reach {
	OLAF_REACH_FIRST, /* nobody there has got it: now marked */
	OLAF_REACH_AGAIN, /* somebody there has */
	OLAF_REACH_UNKNOWN, /* no place to mark it */
};

/* Finalizer of MurmurHash3: every bit of the word in every bit of the result. */
static __always_inline __u64 olaf_mix(__u64 word)
{
	word = (word ^ word >> 33) * 0xff51afd7ed558ccdULL;
	word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return word ^ word >> 33;
}

static __always_inline __u64 olaf_reach_hash(const struct olaf_member *member)
{
	__u64 hash = olaf_cfg.token_secret;

	hash = olaf_mix(hash ^ ((__u64)member->addr_be[0] << 32 | member->addr_be[1]));
	hash = olaf_mix(hash + ((__u64)member->addr_be[2] << 32 | member->addr_be[3]));
	return olaf_mix(hash + ((__u64)member->family << 16 | member->port_be));
}

/* Does the ACK reach the member's address and port already? Marks them as reached. */
static __always_inline enum olaf_reach olaf_reach(const struct olaf_ack *ack,
						  const struct olaf_member *member)
{
	__u64 hash = olaf_reach_hash(member);
	__u32 mask = olaf_reached_places(olaf_cfg.max_workers) - 1, step = hash >> 32 | 1, i;

	for (i = 0; i < OLAF_REACHED_LOOKS; i++) {
		__u32 key = ((__u32)hash + i * step) & mask;
		struct olaf_reached *place = bpf_map_lookup_elem(&olaf_reached, &key);

		if (!place)
			break;
		if (place->ack != ack->number) {
			place->ack = ack->number;
			__builtin_memcpy(place->addr_be, member->addr_be, sizeof(place->addr_be));
			place->port_be = member->port_be;
			place->family = member->family;
			return OLAF_REACH_FIRST;
		}
		if (place->port_be == member->port_be && place->family == member->family &&
		    olaf_address_same(place->addr_be, member->addr_be))
			return OLAF_REACH_AGAIN;
	}
	return OLAF_REACH_UNKNOWN;
}

static __always_inline int olaf_way_leads_to(const struct olaf_way *way,
					     const struct olaf_member *member)
{
	return way->family == member->family && way->dest_be == member->port_be &&
	       olaf_address_same(way->daddr_be, member->addr_be);
}

/*
 * The MAC address of a registered member that has never been heard: the kernel knows it if
 * this host is the member's neighbour, or its router, and forwards. Returns 0, or -1.
 */
static __always_inline int olaf_way_ask(struct __sk_buff *skb, struct olaf_way *next)
{
	struct bpf_fib_lookup fib = {};

	if (olaf_fib_ask(skb, &fib, olaf_cfg.ifindex, next->family, next->saddr_be, next->daddr_be))
		return -1;
	__builtin_memcpy(next->dmac, fib.dmac, ETH_ALEN);
	return 0;
}

/* Sets ack->next's tags to the member's. */
static __always_inline void olaf_way_tag(struct olaf_way *next, const struct olaf_member *member)
{
	next->tags = member->tags;
	next->tag[0] = member->tag[0];
	next->tag[1] = member->tag[1];
	next->tag[2] = (struct olaf_tag){};
}

/*
 * From upstream, ack->next leads back the way that the member's updates came: from the
 * address that it sends to, in its own IP version. Returns 0, or -1: it can't be reached.
 */
static __always_inline int olaf_way_back(struct olaf_ack *ack, const struct olaf_member *member)
{
	struct olaf_way *next = &ack->next;
	int i;

	if (!member->last_seen_ns)
		return -1;
	if (member->family != ack->origin.family) {
		/* IPv6 needs a checksum, and the sender of this one computed none. */
		if (!olaf_header_is_plain(ack) || !ack->udp_check)
			return -1;
	}
	for (i = 0; i < ETH_ALEN; i++)
		next->smac[i] = olaf_cfg.mac[i];
	olaf_address_copy(next->saddr_be, member->local_addr_be);
	next->family = member->family;
	next->source_be = olaf_cfg.port_be;
	next->hops = ack->origin.hops - 1;
	olaf_way_tag(next, member);
	return 0;
}

/* Lays ack->next out to the member. Returns 0, or -1: it can't be reached. */
static __always_inline int olaf_way_to(struct __sk_buff *skb, struct olaf_ack *ack,
				       const struct olaf_member *member, __u32 worker)
{
	struct olaf_way *next = &ack->next;

	*next = ack->origin;
	__builtin_memcpy(next->dmac, member->mac, ETH_ALEN);
	olaf_address_copy(next->daddr_be, member->addr_be);
	next->dest_be = member->port_be;
	next->worker_be = bpf_htonl(worker);
	if (ack->returning)
		return olaf_way_back(ack, member);
	if (member->family != next->family)
		return -1;
	if (!member->last_seen_ns)
		return olaf_way_ask(skb, next);
	/* No tag seen may mean that the device took it off: then the ACK's own are right. */
	if (!member->tags && (olaf_cfg.flags & OLAF_CONFIG_TAGS_HIDDEN))
		return 0;
	olaf_way_tag(next, member);
	return 0;
}

/*
 * May the member have this ACK? From upstream, it was asked whether the server sent it. One
 * that was never heard hasn't said whom it sends to.
 */
static __always_inline int olaf_copy_is_welcome(const struct olaf_ack *ack,
						const struct olaf_member *member)
{
	return ack->returning || member->family != ack->family || !member->last_seen_ns ||
	       olaf_member_sends_to(member, ack);
}

/* Is the copy the first to that address and port? Counts it if not. */
static __always_inline int olaf_copy_is_first(const struct olaf_ack *ack,
					      const struct olaf_member *member)
{
	enum olaf_reach reach = olaf_reach(ack, member);

	if (reach == OLAF_REACH_AGAIN)
		olaf_count_ack(copies_shared);
	else if (reach == OLAF_REACH_UNKNOWN)
		olaf_count_ack(copies_unreachable);
	return reach == OLAF_REACH_FIRST;
}

/* Sends a copy to a worker, if it is a member. Returns nothing of interest: see ack->broken. */
__noinline int olaf_copy_to(struct __sk_buff *skb, __u32 worker)
{
	struct olaf_ack *ack = olaf_ack_here();
	struct olaf_member *place, member;
	int own;

	if (!ack)
		return 0;
	place = olaf_member_at(bpf_ntohl(ack->message.cluster_be), worker);
	if (!place || !READ_ONCE(place->family))
		return 0;
	if (!olaf_member_read(place, &member)) {
		olaf_count_ack(copies_unreachable);
		return 0;
	}
	if (!olaf_member_is_live(&member, ack->now_ns, olaf_cfg.member_timeout_ns))
		return 0;
	if (!olaf_copy_is_welcome(ack, &member)) {
		olaf_count_ack(copies_foreign);
		return 0;
	}
	own = !ack->returning && olaf_way_leads_to(&ack->origin, &member);
	if (!own && olaf_way_to(skb, ack, &member, worker)) {
		olaf_count_ack(copies_unreachable);
		return 0;
	}
	if (!olaf_copy_is_first(ack, &member))
		return 0;
	if (own) {
		ack->heir = 1 + worker;
		return 0;
	}
	if (olaf_ack_turn(skb))
		return 0;
	ack->turned = 1;
	if (bpf_clone_redirect(skb, olaf_cfg.ifindex, 0)) {
		olaf_count_ack(copies_refused);
		return 0;
	}
	ack->copies++;
	olaf_count_ack(copies);
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

/*
 * Copies the ACK, whose origin was read, to one worker or, if it is for every worker, to
 * each of its cluster. Afterwards ack->copies and ack->heir tell who got one.
 */
static __always_inline void olaf_copies_make(struct __sk_buff *skb, struct olaf_ack *ack,
					     __u32 returning)
{
	struct olaf_copying copying = { .skb = skb };
	__u32 worker = bpf_ntohl(ack->message.worker_be);

	ack->here = ack->origin;
	ack->now_ns = bpf_ktime_get_ns();
	ack->returning = returning;
	ack->heir = 0;
	ack->copies = 0;
	ack->turned = 0;
	ack->broken = 0;
	ack->number++;
	ack->copying = 1;
	if (worker == OLAF_EVERY_WORKER)
		bpf_loop(olaf_roster_end(bpf_ntohl(ack->message.cluster_be)), olaf_copy_next,
			 &copying, 0);
	else
		olaf_copy_to(skb, worker);
	ack->copying = 0;
	if (ack->copies)
		olaf_count_ack(copied);
	if (ack->broken)
		olaf_count_ack(copies_unfit);
}

/* Copies an ACK that leaves for every worker. Returns a TC verdict for the ACK itself. */
static __always_inline int olaf_ack_copy(struct __sk_buff *skb, struct olaf_ack *ack)
{
	if (ack->message.worker_be != bpf_htonl(OLAF_EVERY_WORKER) ||
	    !olaf_roster_end(bpf_ntohl(ack->message.cluster_be)) || olaf_forget_device_sum(skb) ||
	    olaf_way_read(skb, ack, &ack->origin))
		return TC_ACT_UNSPEC;
	olaf_copies_make(skb, ack, 0);
	if (ack->broken)
		return TC_ACT_SHOT;
	if (!ack->turned && !ack->heir)
		return TC_ACT_UNSPEC;
	/* To a group, which the copies have reached. */
	if (!ack->heir && ack->copies && (ack->origin.dmac[0] & 1))
		return TC_ACT_STOLEN;
	ack->next = ack->origin;
	if (ack->heir)
		ack->next.worker_be = bpf_htonl(ack->heir - 1);
	if (olaf_ack_turn(skb)) {
		olaf_count_ack(copies_unfit);
		return TC_ACT_SHOT;
	}
	return TC_ACT_UNSPEC;
}

#endif /* OLAF_ACK_COPY_BPF_H */
