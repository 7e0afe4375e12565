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

#include "bpf/ack/ack.bpf.h"

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
		return bpf_skb_load_bytes(skb, ack->l3_offset + offsetof(struct ipv6hdr, hop_limit),
					  &way->hops, 1) ||
			       bpf_skb_load_bytes(skb,
						  ack->l3_offset + offsetof(struct ipv6hdr, saddr),
						  way->saddr_be, 32) ?
			       -1 :
			       0;
	if (bpf_skb_load_bytes(skb, ack->l3_offset + offsetof(struct iphdr, ttl), &way->hops, 1) ||
	    bpf_skb_load_bytes(skb, ack->l3_offset + offsetof(struct iphdr, saddr), addresses_be,
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

/* Is the IP header without options and extensions, so that it can become the other one? */
static __always_inline int olaf_header_is_plain(const struct olaf_ack *ack)
{
	return ack->l4_offset - ack->l3_offset ==
	       (ack->here.family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
}

static __always_inline __be16 olaf_eth_proto(__u32 family)
{
	return family == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

/*
 * The tags, and the IP version, which changes while no tag is in the way. Old tags come
 * off and new ones go on; the outermost ends beside the bytes.
 */
static __always_inline int olaf_turn_layers(struct __sk_buff *skb, struct olaf_ack *ack)
{
	__u32 header_bytes = ack->l4_offset - ack->l3_offset;
	const struct olaf_way *next = &ack->next;
	__be16 from_be = olaf_eth_proto(ack->here.family), to_be = olaf_eth_proto(next->family);
	__be16 found_be = 0;
	int i;

	if (olaf_same_tags(&ack->here, next) && ack->here.family == next->family)
		return 0;
	for (i = 0; i < OLAF_MAX_WAY_TAGS; i++)
		if (i < ack->here.tags && bpf_skb_vlan_pop(skb))
			return -1;
	/* The kernel pops what it takes for a tag, by the skb's protocol: did it? */
	if (bpf_skb_load_bytes(skb, 2 * ETH_ALEN, &found_be, sizeof(found_be)) ||
	    found_be != from_be)
		return -1;
	if (from_be != to_be) {
		if (bpf_skb_change_proto(skb, to_be, 0) ||
		    bpf_skb_store_bytes(skb, 2 * ETH_ALEN, &to_be, sizeof(to_be), 0))
			return -1;
		header_bytes = next->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	}
	for (i = OLAF_MAX_WAY_TAGS - 1; i >= 0; i--)
		if (i < next->tags &&
		    bpf_skb_vlan_push(skb, next->tag[i].proto_be, bpf_ntohs(next->tag[i].tci_be)))
			return -1;
	ack->l3_offset = ETH_HLEN + (next->tags ? next->tags - 1 : 0) * sizeof(struct olaf_tag);
	ack->l4_offset = ack->l3_offset + header_bytes;
	return 0;
}

static __always_inline __u64 olaf_way_addresses_sum(const struct olaf_way *way)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < 4; i++)
		sum += (__u64)way->saddr_be[i] + way->daddr_be[i];
	return sum;
}

/* A whole IP header in the place of the other version's. */
static __always_inline long olaf_write_ip(struct __sk_buff *skb, const struct olaf_ack *ack)
{
	const struct olaf_way *next = &ack->next;
	struct ipv6hdr ip6 = {};
	struct iphdr ip4 = {};

	if (next->family == 4) {
		ip4.version = 4;
		ip4.ihl = sizeof(ip4) / 4;
		ip4.tot_len = bpf_htons(sizeof(ip4) + ack->udp_bytes);
		ip4.frag_off = bpf_htons(OLAF_IP_DONT_FRAGMENT);
		ip4.ttl = next->hops;
		ip4.protocol = IPPROTO_UDP;
		ip4.saddr = next->saddr_be[0];
		ip4.daddr = next->daddr_be[0];
		ip4.check = olaf_checksum_fold(bpf_csum_diff(NULL, 0, (void *)&ip4, sizeof(ip4), 0));
		return bpf_skb_store_bytes(skb, ack->l3_offset, &ip4, sizeof(ip4), 0);
	}
	ip6.version = 6;
	ip6.payload_len = bpf_htons(ack->udp_bytes);
	ip6.nexthdr = IPPROTO_UDP;
	ip6.hop_limit = next->hops;
	__builtin_memcpy(&ip6.saddr, next->saddr_be, sizeof(ip6.saddr));
	__builtin_memcpy(&ip6.daddr, next->daddr_be, sizeof(ip6.daddr));
	return bpf_skb_store_bytes(skb, ack->l3_offset, &ip6, sizeof(ip6), 0);
}

/* TTL or hop limit of a header that stays. */
static __always_inline long olaf_turn_hops(struct __sk_buff *skb, const struct olaf_ack *ack)
{
	__u8 from = ack->here.hops, to = ack->next.hops;

	if (from == to)
		return 0;
	if (ack->next.family == 6)
		return bpf_skb_store_bytes(skb,
					   ack->l3_offset + offsetof(struct ipv6hdr, hop_limit),
					   &to, 1, 0);
	/* The TTL is the first byte of its 16-bit word. */
	return bpf_l3_csum_replace(skb, ack->l3_offset + offsetof(struct iphdr, check),
				   bpf_htons(from << 8), bpf_htons(to << 8), 2) ||
	       bpf_skb_store_bytes(skb, ack->l3_offset + offsetof(struct iphdr, ttl), &to, 1, 0);
}

/* Addresses of a header that stays; `difference` is of their sums. */
static __always_inline long olaf_turn_ip(struct __sk_buff *skb, const struct olaf_ack *ack,
					 __u32 difference)
{
	const struct olaf_way *next = &ack->next;
	__be32 addresses_be[2] = { next->saddr_be[0], next->daddr_be[0] };

	if (next->family == 6)
		return bpf_skb_store_bytes(skb, ack->l3_offset + offsetof(struct ipv6hdr, saddr),
					   next->saddr_be, 32, BPF_F_INVALIDATE_HASH);
	return bpf_l3_csum_replace(skb, ack->l3_offset + offsetof(struct iphdr, check), 0,
				   difference, 0) ||
	       bpf_skb_store_bytes(skb, ack->l3_offset + offsetof(struct iphdr, saddr),
				   addresses_be, sizeof(addresses_be), BPF_F_INVALIDATE_HASH);
}

/* The network layer, and what of it counts in the UDP checksum: the same for both versions. */
static __always_inline long olaf_turn_network(struct __sk_buff *skb, struct olaf_ack *ack)
{
	__u32 difference = olaf_sum_difference(olaf_way_addresses_sum(&ack->here),
					       olaf_way_addresses_sum(&ack->next), 8);
	long error;

	if (ack->here.family != ack->next.family)
		error = olaf_write_ip(skb, ack);
	else
		error = olaf_turn_hops(skb, ack) || olaf_turn_ip(skb, ack, difference);
	return error ? error : olaf_ack_checksum(skb, ack, difference, BPF_F_PSEUDO_HDR);
}

/* Ports and the worker field, and the checksum. */
static __always_inline long olaf_turn_message(struct __sk_buff *skb, struct olaf_ack *ack)
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
	if (olaf_turn_layers(skb, ack) ||
	    bpf_skb_store_bytes(skb, 0, ack->next.dmac, 2 * ETH_ALEN, 0) ||
	    olaf_turn_network(skb, ack) || olaf_turn_message(skb, ack)) {
		ack->broken = 1;
		return -1;
	}
	ack->here = ack->next;
	return 0;
}

#endif /* OLAF_ACK_WAY_BPF_H */
