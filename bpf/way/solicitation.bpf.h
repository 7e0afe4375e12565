/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small frames by which the drain asks whether a way out is there. No payload of ours
 * is ever parked in the kernel's neighbour queue, which drops what is too much in silence.
 *
 *   the kernel knows no address of the next hop    an empty packet to the destination, with
 *                                                  one hop to live, by the kernel's neighbour
 *                                                  code: that asks for the address
 *   it knows one that is some seconds old          an ARP request or a Neighbour Solicitation
 *                                                  of our own: the answer corrects the kernel
 *   the output device refuses frames               a frame that no bridge sends on, to see
 *                                                  whether it takes frames again
 *
 * All are OLAF_SOLICIT_BYTES long: behind what they say are zeros.
 */
#ifndef OLAF_SOLICITATION_BPF_H
#define OLAF_SOLICITATION_BPF_H

#include "bpf/claim.bpf.h"
#include "bpf/counters.bpf.h"
#include "bpf/packet/parse.bpf.h"

/* The kernel cuts no skb shorter than where its UDP header was: the shortest update's length. */
#define OLAF_SOLICIT_BYTES (OLAF_MIN_HEADERS + sizeof(struct olaf_header) + 8)

#define OLAF_ICMP6_NEIGHBOUR_SOLICITATION 135
#define OLAF_ICMP6_SOURCE_MAC 1
/* IEEE 802, local experimental: nobody's protocol. */
#define OLAF_ETH_P_PROBE 0x88b5

/* RFC 826 */
#define OLAF_ARP_ETHERNET 1
#define OLAF_ARP_REQUEST 1
#define OLAF_ICMP_ECHO 8

struct olaf_arp {
	struct ethhdr eth;
	__be16 hardware_be;
	__be16 protocol_be;
	__u8 mac_bytes;
	__u8 address_bytes;
	__be16 operation_be;
	__u8 sender_mac[ETH_ALEN];
	__be32 sender_be;
	__u8 target_mac[ETH_ALEN];
	__be32 target_be;
} __attribute__((packed));

struct olaf_echo4 {
	struct ethhdr eth;
	struct iphdr ip;
	__u8 type;
	__u8 code;
	__be16 check;
	__be32 id_and_sequence;
} __attribute__((packed));

struct olaf_neighbour_solicitation {
	struct ethhdr eth;
	struct ipv6hdr ip;
	__u8 type;
	__u8 code;
	__be16 check;
	__be32 reserved;
	__be32 target_be[4];
	__u8 option;
	__u8 option_length; /* 8-byte units */
	__u8 source_mac[ETH_ALEN];
} __attribute__((packed));

struct olaf_empty6 {
	struct ethhdr eth;
	struct ipv6hdr ip;
} __attribute__((packed));

/* Any of these, with the zeros behind it. */
union olaf_solicitation {
	struct olaf_arp arp;
	struct olaf_echo4 echo;
	struct olaf_neighbour_solicitation ns;
	struct olaf_empty6 empty;
	struct ethhdr eth;
	__u8 bytes[OLAF_SOLICIT_BYTES];
	__u64 words[(OLAF_SOLICIT_BYTES + 7) / 8];
};

static __always_inline void olaf_write_arp(struct olaf_arp *f, const struct olaf_nexthop *next)
{
	__builtin_memset(f->eth.h_dest, 0xff, ETH_ALEN);
	__builtin_memcpy(f->eth.h_source, next->smac, ETH_ALEN);
	f->eth.h_proto = bpf_htons(ETH_P_ARP);
	f->hardware_be = bpf_htons(OLAF_ARP_ETHERNET);
	f->protocol_be = bpf_htons(ETH_P_IP);
	f->mac_bytes = ETH_ALEN;
	f->address_bytes = sizeof(f->sender_be);
	f->operation_be = bpf_htons(OLAF_ARP_REQUEST);
	__builtin_memcpy(f->sender_mac, next->smac, ETH_ALEN);
	f->sender_be = olaf_cfg.own4_be;
	f->target_be = next->via_be[0];
}

/* RFC 4861, 4.3: to the solicited-node group of the next hop. */
static __always_inline void olaf_write_ns(struct olaf_neighbour_solicitation *f,
					  const struct olaf_nexthop *next)
{
	const __be16 *words_be = (void *)f + offsetof(struct olaf_neighbour_solicitation, ip.saddr);
	const __u8 *via = (const __u8 *)next->via_be;
	__u64 sum;
	__u32 i;

	f->eth.h_dest[0] = 0x33;
	f->eth.h_dest[1] = 0x33;
	f->eth.h_dest[2] = 0xff;
	for (i = 3; i < ETH_ALEN; i++)
		f->eth.h_dest[i] = via[10 + i];
	__builtin_memcpy(f->eth.h_source, next->smac, ETH_ALEN);
	f->eth.h_proto = bpf_htons(ETH_P_IPV6);
	f->ip.version = 6;
	f->ip.payload_len = bpf_htons(sizeof(*f) - offsetof(struct olaf_neighbour_solicitation, type));
	f->ip.nexthdr = IPPROTO_ICMPV6;
	f->ip.hop_limit = 255;
	f->ip.daddr.in6_u.u6_addr8[0] = 0xff;
	f->ip.daddr.in6_u.u6_addr8[1] = 0x02;
	f->ip.daddr.in6_u.u6_addr8[11] = 0x01;
	f->ip.daddr.in6_u.u6_addr8[12] = 0xff;
	for (i = 13; i < 16; i++)
		f->ip.daddr.in6_u.u6_addr8[i] = via[i];
	olaf_address_copy(f->ip.saddr.in6_u.u6_addr32, olaf_cfg.own6_be);
	olaf_address_copy(f->target_be, next->via_be);
	f->type = OLAF_ICMP6_NEIGHBOUR_SOLICITATION;
	f->option = OLAF_ICMP6_SOURCE_MAC;
	f->option_length = 1;
	__builtin_memcpy(f->source_mac, next->smac, ETH_ALEN);
	/* From the source address to the end, and the rest of the pseudo header. */
	sum = f->ip.payload_len + bpf_htons(IPPROTO_ICMPV6);
	for (i = 0; i < (sizeof(*f) - ETH_HLEN - offsetof(struct ipv6hdr, saddr)) / 2; i++)
		sum += words_be[i];
	f->check = olaf_checksum_fold(sum);
}

static __always_inline void olaf_write_echo4(struct olaf_echo4 *f,
					     const struct olaf_destination *to)
{
	const __be16 *words_be = (void *)f + offsetof(struct olaf_echo4, ip);
	__u64 sum = 0;
	__u32 i;

	f->eth.h_proto = bpf_htons(ETH_P_IP);
	f->ip.version = 4;
	f->ip.ihl = sizeof(f->ip) / 4;
	f->ip.tot_len = bpf_htons(sizeof(*f) - sizeof(f->eth));
	f->ip.frag_off = bpf_htons(OLAF_IP_DONT_FRAGMENT);
	f->ip.ttl = 1;
	f->ip.protocol = IPPROTO_ICMP;
	f->ip.saddr = olaf_cfg.own4_be;
	f->ip.daddr = to->addr_be[0];
	for (i = 0; i < sizeof(f->ip) / 2; i++)
		sum += words_be[i];
	f->ip.check = olaf_checksum_fold(sum);
	f->type = OLAF_ICMP_ECHO;
	f->check = (__be16)~bpf_htons(OLAF_ICMP_ECHO << 8);
}

/* RFC 8200, 4.7: nothing follows, so whoever gets it ignores it. */
static __always_inline void olaf_write_empty6(struct olaf_empty6 *f,
					      const struct olaf_destination *to)
{
	f->eth.h_proto = bpf_htons(ETH_P_IPV6);
	f->ip.version = 6;
	f->ip.nexthdr = IPPROTO_NONE;
	f->ip.hop_limit = 1;
	olaf_address_copy(f->ip.saddr.in6_u.u6_addr32, olaf_cfg.own6_be);
	olaf_address_copy(f->ip.daddr.in6_u.u6_addr32, to->addr_be);
}

/* To the group of the nearest bridge, which no bridge sends on. */
static __always_inline void olaf_write_probe(struct ethhdr *eth)
{
	int i;

	eth->h_dest[0] = 0x01;
	eth->h_dest[1] = 0x80;
	eth->h_dest[2] = 0xc2;
	eth->h_dest[5] = 0x0e;
	for (i = 0; i < ETH_ALEN; i++)
		eth->h_source[i] = olaf_cfg.drain_mac[i];
	eth->h_proto = bpf_htons(OLAF_ETH_P_PROBE);
}

/* Puts the frame into the skb in place of what it holds. Returns 0, or negative: no memory. */
static __always_inline long olaf_solicit_put(struct __sk_buff *skb,
					     const union olaf_solicitation *frame)
{
	long error = bpf_skb_change_tail(skb, OLAF_SOLICIT_BYTES, 0);

	return error ? error : bpf_skb_store_bytes(skb, 0, frame->bytes, OLAF_SOLICIT_BYTES, 0);
}

/*
 * Makes the skb the packet that lets the kernel ask for the next hop: the caller sends it by
 * the kernel's neighbour code. Returns 0, or -1.
 */
static __always_inline int olaf_let_kernel_ask(struct __sk_buff *skb,
					       const struct olaf_destination *to)
{
	union olaf_solicitation frame = {};

	if (to->family == 4) {
		olaf_write_echo4(&frame.echo, to);
	} else {
		olaf_write_empty6(&frame.empty, to);
		if (bpf_skb_change_proto(skb, bpf_htons(ETH_P_IPV6), 0))
			return -1;
	}
	olaf_count(hops_asked);
	return olaf_solicit_put(skb, &frame) ? -1 : 0;
}

#endif /* OLAF_SOLICITATION_BPF_H */
