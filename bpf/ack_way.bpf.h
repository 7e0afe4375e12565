/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turning an ACK from one way to another: VLAN tags, MAC and IP addresses, UDP ports, the
 * worker field, and every checksum they count in, each by its difference.
 *
 * Helpers write, on the skb itself: it is a clone's twin (bpf_clone_redirect), and they
 * make its headers its own first.
 */
#ifndef OLAF_ACK_WAY_BPF_H
#define OLAF_ACK_WAY_BPF_H

#include "ack.bpf.h"

/* The difference of two sums of `words` 32-bit words, as the checksum helpers take one. */
static __always_inline __u32 olaf_sum_difference(__u64 from, __u64 to, __u32 words)
{
	__u64 sum = to + words * 0xffffffffULL - from;

	sum = (sum & 0xffffffff) + (sum >> 32);
	return (sum & 0xffffffff) + (sum >> 32);
}

/*
 * Corrects the UDP checksum by a difference of what it covers: with BPF_F_PSEUDO_HDR of
 * the addresses, else of ports and payload. One of 0 stays; so does, without that flag,
 * one that a local socket left to the device: only the pseudo header's sum stands there.
 */
static __always_inline long olaf_ack_checksum(struct __sk_buff *skb, const struct olaf_ack *ack,
					      __u32 difference, __u64 flags)
{
	return bpf_l4_csum_replace(skb, ack->l4_offset + offsetof(struct udphdr, check), 0,
				   difference, BPF_F_MARK_MANGLED_0 | flags);
}

/*
 * Has the device summed the whole packet (CHECKSUM_COMPLETE)? Helpers keep that sum right
 * for most changes, not for IPv6 addresses before Linux 6.16: better without it. Growing
 * the skb makes the kernel forget it.
 */
static __always_inline long olaf_forget_device_sum(struct __sk_buff *skb)
{
	__u32 bytes = skb->len;

	if (bpf_csum_update(skb, 0) < 0)
		return 0;
	if (bpf_skb_change_tail(skb, bytes + 1, 0))
		return -1;
	return bpf_skb_change_tail(skb, bytes, 0);
}

/* Reads the way that the ACK is on into *way. */
static __always_inline int olaf_way_read(struct __sk_buff *skb, const struct olaf_ack *ack,
					 struct olaf_way *way)
{
	__u32 inside = (ack->l3_offset - ETH_HLEN) / sizeof(struct olaf_tag);
	struct olaf_tag tag[OLAF_MAX_VLAN_TAGS];
	__be32 addresses_be[2];
	__u32 beside = 0;

	__builtin_memset(way, 0, sizeof(*way));
	way->family = ack->family;
	way->worker_be = ack->message.worker_be;
	if (skb->vlan_present) {
		way->tag[0].proto_be = skb->vlan_proto;
		way->tag[0].tci_be = bpf_htons(skb->vlan_tci);
		beside = 1;
	}
	way->tags = beside + inside;
	if (bpf_skb_load_bytes(skb, 0, way->dmac, 2 * ETH_ALEN) ||
	    bpf_skb_load_bytes(skb, 2 * ETH_ALEN, tag, sizeof(tag)) ||
	    bpf_skb_load_bytes(skb, ack->l4_offset, &way->source_be, 4))
		return -1;
	if (inside > 0)
		way->tag[beside] = tag[0];
	if (inside > 1)
		way->tag[beside + 1] = tag[1];
	if (way->family == 6)
		return bpf_skb_load_bytes(skb, ack->l3_offset + offsetof(struct ipv6hdr, saddr),
					  way->saddr_be, 32);
	if (bpf_skb_load_bytes(skb, ack->l3_offset + offsetof(struct iphdr, saddr), addresses_be,
			       sizeof(addresses_be)))
		return -1;
	way->saddr_be[0] = addresses_be[0];
	way->daddr_be[0] = addresses_be[1];
	return 0;
}

static __always_inline int olaf_same_tags(const struct olaf_way *a, const struct olaf_way *b)
{
	int i;

	for (i = 0; i < OLAF_MAX_WAY_TAGS; i++)
		if (a->tag[i].proto_be != b->tag[i].proto_be || a->tag[i].tci_be != b->tag[i].tci_be)
			return 0;
	return a->tags == b->tags;
}

/* Takes the old tags off and puts the new ones on; the outermost ends beside the bytes. */
static __always_inline int olaf_turn_tags(struct __sk_buff *skb, struct olaf_ack *ack)
{
	__u32 header_bytes = ack->l4_offset - ack->l3_offset;
	const struct olaf_way *next = &ack->next;
	__be16 proto_be = 0;
	int i;

	if (olaf_same_tags(&ack->here, next))
		return 0;
	for (i = 0; i < OLAF_MAX_WAY_TAGS; i++)
		if (i < ack->here.tags && bpf_skb_vlan_pop(skb))
			return -1;
	for (i = OLAF_MAX_WAY_TAGS - 1; i >= 0; i--)
		if (i < next->tags &&
		    bpf_skb_vlan_push(skb, next->tag[i].proto_be, bpf_ntohs(next->tag[i].tci_be)))
			return -1;
	ack->l3_offset = ETH_HLEN + (next->tags ? next->tags - 1 : 0) * sizeof(struct olaf_tag);
	ack->l4_offset = ack->l3_offset + header_bytes;
	/* The kernel pops what it takes for a tag, by the skb's protocol: did it? */
	if (bpf_skb_load_bytes(skb, ack->l3_offset - sizeof(proto_be), &proto_be, sizeof(proto_be)))
		return -1;
	return proto_be == bpf_htons(ack->here.family == 4 ? ETH_P_IP : ETH_P_IPV6) ? 0 : -1;
}

static __always_inline __u64 olaf_way_addresses_sum(const struct olaf_way *way)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < 4; i++)
		sum += (__u64)way->saddr_be[i] + way->daddr_be[i];
	return sum;
}

/* Addresses of the network layer, and the checksums that they count in. */
static __always_inline int olaf_turn_addresses(struct __sk_buff *skb, struct olaf_ack *ack)
{
	const struct olaf_way *next = &ack->next;
	__u32 difference = olaf_sum_difference(olaf_way_addresses_sum(&ack->here),
					       olaf_way_addresses_sum(next), 8);
	__be32 addresses_be[2] = { next->saddr_be[0], next->daddr_be[0] };

	if (next->family == 6) {
		if (bpf_skb_store_bytes(skb, ack->l3_offset + offsetof(struct ipv6hdr, saddr),
					next->saddr_be, 32, BPF_F_INVALIDATE_HASH))
			return -1;
	} else if (bpf_l3_csum_replace(skb, ack->l3_offset + offsetof(struct iphdr, check), 0,
				       difference, 0) ||
		   bpf_skb_store_bytes(skb, ack->l3_offset + offsetof(struct iphdr, saddr),
				       addresses_be, sizeof(addresses_be),
				       BPF_F_INVALIDATE_HASH)) {
		return -1;
	}
	return olaf_ack_checksum(skb, ack, difference, BPF_F_PSEUDO_HDR);
}

/* Ports and the worker field, and the checksum. */
static __always_inline int olaf_turn_message(struct __sk_buff *skb, struct olaf_ack *ack)
{
	const struct olaf_way *here = &ack->here, *next = &ack->next;
	__u64 from = (__u64)here->source_be + here->dest_be + here->worker_be;
	__u64 to = (__u64)next->source_be + next->dest_be + next->worker_be;
	__u32 worker_at = ack->l4_offset + sizeof(struct udphdr) +
			  offsetof(struct olaf_header, worker_be);

	if (bpf_skb_store_bytes(skb, ack->l4_offset, &next->source_be, 4, 0) ||
	    bpf_skb_store_bytes(skb, worker_at, &next->worker_be, 4, 0))
		return -1;
	return olaf_ack_checksum(skb, ack, olaf_sum_difference(from, to, 3), 0);
}

/*
 * Turns the ACK from the way that it is on to ack->next. Returns 0, or -1: the kernel had
 * no memory, or the skb isn't what its bytes say; then it is fit for nothing.
 */
__noinline int olaf_ack_turn(struct __sk_buff *skb)
{
	struct olaf_ack *ack = olaf_ack_here();

	if (!ack)
		return -1;
	if (olaf_turn_tags(skb, ack) ||
	    bpf_skb_store_bytes(skb, 0, ack->next.dmac, 2 * ETH_ALEN, 0) ||
	    olaf_turn_addresses(skb, ack) || olaf_turn_message(skb, ack)) {
		ack->broken = 1;
		return -1;
	}
	ack->here = ack->next;
	return 0;
}

#endif /* OLAF_ACK_WAY_BPF_H */
