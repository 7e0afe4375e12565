/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * New headers for a message: written backwards from where it begins, in an entry or in the staging
 * area. UDP's checksum is 0, and over IPv6 left to the caller.
 */
#ifndef OLAF_COMPOSE_BPF_H
#define OLAF_COMPOSE_BPF_H

#include "bpf/packet/parse.bpf.h"

#define OLAF_HOP_LIMIT 64

struct olaf_headers4 {
	struct iphdr ip;
	struct udphdr udp;
};

struct olaf_headers6 {
	struct ipv6hdr ip;
	struct udphdr udp;
};

/* The two ends of a datagram. */
struct olaf_ends {
	__be32 saddr_be[4]; /* IPv4 in [0] */
	__be32 daddr_be[4];
	__be16 source_be;
	__be16 dest_be;
};

/* UDP over IPv4 just before the message's `header`. */
static __always_inline struct olaf_headers4 *
olaf_compose4(void *header, __u32 message_bytes, const struct olaf_ends *ends)
{
	struct olaf_headers4 *h = header - sizeof(*h);
	__be16 total_be = bpf_htons(sizeof(*h) + message_bytes);
	__u64 sum;

	/* Version 4, 5 words of header, no type of service. */
	*(__be16 *)&h->ip = bpf_htons(0x4500);
	h->ip.tot_len = total_be;
	h->ip.id = 0;
	h->ip.frag_off = bpf_htons(OLAF_IP_DONT_FRAGMENT); /* the receiver wants one datagram */
	h->ip.ttl = OLAF_HOP_LIMIT;
	h->ip.protocol = IPPROTO_UDP;
	h->ip.saddr = ends->saddr_be[0];
	h->ip.daddr = ends->daddr_be[0];
	/* Of the values, not of what was just written: loads of it would wait for the stores. */
	sum = (__u64)ends->saddr_be[0] + ends->daddr_be[0] + total_be + bpf_htons(0x4500) +
	      bpf_htons(OLAF_IP_DONT_FRAGMENT) + bpf_htons(OLAF_HOP_LIMIT << 8 | IPPROTO_UDP);
	h->ip.check = olaf_checksum_fold(sum);
	h->udp.source = ends->source_be;
	h->udp.dest = ends->dest_be;
	h->udp.len = bpf_htons(sizeof(h->udp) + message_bytes);
	h->udp.check = 0;
	return h;
}

/* UDP over IPv6 just before the message's `header`. */
static __always_inline struct olaf_headers6 *
olaf_compose6(void *header, __u32 message_bytes, const struct olaf_ends *ends)
{
	struct olaf_headers6 *h = header - sizeof(*h);

	__builtin_memset(&h->ip, 0, sizeof(h->ip));
	h->ip.version = 6;
	h->ip.payload_len = bpf_htons(sizeof(h->udp) + message_bytes);
	h->ip.nexthdr = IPPROTO_UDP;
	h->ip.hop_limit = OLAF_HOP_LIMIT;
	olaf_address_copy(h->ip.saddr.in6_u.u6_addr32, ends->saddr_be);
	olaf_address_copy(h->ip.daddr.in6_u.u6_addr32, ends->daddr_be);
	h->udp.source = ends->source_be;
	h->udp.dest = ends->dest_be;
	h->udp.len = bpf_htons(sizeof(h->udp) + message_bytes);
	h->udp.check = 0;
	return h;
}

/* Pseudo header of UDP over IPv6, then UDP without its checksum; addresses are 32 bytes. */
static __always_inline __u64 olaf_pseudo_sum6(const __be16 *addresses_be, const struct udphdr *udp)
{
	__u64 sum = 0;
	int i;

	for (i = 0; i < 16; i++)
		sum += addresses_be[i];
	sum += bpf_htons(IPPROTO_UDP) + udp->len;
	return sum + udp->source + udp->dest + udp->len;
}

/* Sum of a message's header. */
static __always_inline __u64 olaf_header_sum(const struct olaf_header *header)
{
	const __u32 *words = (const __u32 *)header;
	__u64 sum = 0;
	__u32 i;

#pragma clang loop unroll(full)
	for (i = 0; i < sizeof(*header) / 4; i++)
		sum += words[i];
	return sum;
}

/* Sums of a datagram of UDP without its checksum and its lanes, whose sum the caller adds. */
static __always_inline __u64 olaf_udp6_sum(const struct ipv6hdr *ip, const struct udphdr *udp,
					   const struct olaf_header *header)
{
	return olaf_pseudo_sum6((const __be16 *)&ip->saddr, udp) + olaf_header_sum(header);
}

static __always_inline __u64 olaf_udp4_sum(const struct iphdr *ip, const struct udphdr *udp,
					   const struct olaf_header *header)
{
	return (__u64)ip->saddr + ip->daddr + bpf_htons(IPPROTO_UDP) + udp->len + udp->source +
	       udp->dest + udp->len + olaf_header_sum(header);
}

/* The checksum that makes such a sum right. UDP has none that is 0: over IPv4 that would say none. */
static __always_inline __u16 olaf_udp_check(__u64 sum)
{
	__u16 check = olaf_checksum_fold(sum);

	return check ? check : 0xffff;
}

/* The checksum that a socket leaves: the sum of the pseudo header. */
static __always_inline __u16 olaf_partial_checksum(struct olaf_entry *staged, __u32 header_bytes,
						   __u32 l3_offset, __u32 family)
{
	void *l3 = olaf_frame_of(staged, header_bytes) + (l3_offset & (OLAF_MAX_HEADERS - 1));
	const struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	const __be16 *addresses_be = l3 + 12;
	__u64 sum = 0;
	int i;

	if (family == 6) {
		addresses_be = l3 + 8;
		for (i = 4; i < 16; i++)
			sum += addresses_be[i];
	}
	for (i = 0; i < 4; i++)
		sum += addresses_be[i];
	sum += bpf_htons(IPPROTO_UDP) + udp->len;
	return ~olaf_checksum_fold(sum);
}

#endif /* OLAF_COMPOSE_BPF_H */
