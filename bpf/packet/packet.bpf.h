/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layers of a frame: Ethernet, up to two VLAN tags, IPv4 with options or IPv6 with
 * extension headers, UDP. What is anything else is none of our business (bypass). Every
 * offset comes from the network: each is bounded before it is used.
 */
#ifndef OLAF_PACKET_BPF_H
#define OLAF_PACKET_BPF_H

#include <stddef.h>

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "bpf/config.bpf.h"

#define OLAF_MAX_VLAN_TAGS 2
#define OLAF_MAX_EXTENSIONS 4
#define OLAF_IP_FRAGMENT 0x3fff /* more-fragments flag and fragment offset */
#define OLAF_IP_DONT_FRAGMENT 0x4000

struct olaf_vlan {
	__be16 tci_be;
	__be16 proto_be;
};

struct olaf_extension {
	__u8 next_header;
	__u8 length; /* 8-byte units behind the first */
};

/* What a frame is: one of these, or OLAF_FRAME_MALFORMED + enum olaf_malformed. */
enum olaf_frame {
	OLAF_FRAME_UPDATE = 0,
	OLAF_FRAME_BYPASS = 1,
	OLAF_FRAME_ROUND = 2, /* a message of a job, if there is that job: read as far as its type */
	OLAF_FRAME_MALFORMED = 3,
};

/* A cursor: bytes from the start of the frame. Below 2^8 wherever it is used. */
static __always_inline void *olaf_at(void *data, __u32 offset)
{
	return data + (offset & 0xff);
}

/* Reads EtherType past VLAN tags; *offset ends at the network header. */
static __always_inline __be16 olaf_parse_ethernet(void *data, void *end, __u32 *offset)
{
	struct ethhdr *eth = data;
	__be16 proto_be;
	int i;

	if ((void *)(eth + 1) > end)
		return 0;
	proto_be = eth->h_proto;
	*offset = sizeof(*eth);
	for (i = 0; i < OLAF_MAX_VLAN_TAGS; i++) {
		struct olaf_vlan *vlan = olaf_at(data, *offset);

		if (proto_be != bpf_htons(ETH_P_8021Q) && proto_be != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(vlan + 1) > end)
			return 0;
		proto_be = vlan->proto_be;
		*offset += sizeof(*vlan);
	}
	return proto_be;
}

/* Folds a sum of words into an Internet checksum. */
static __always_inline __u16 olaf_checksum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Internet checksum of an IPv4 header, options included: 0 when right. */
static __always_inline __u32 olaf_ipv4_checksum(void *data, void *end, __u32 offset, __u32 bytes)
{
	__u32 *words = olaf_at(data, offset);
	__u64 sum = 0;
	__u32 i;

	if ((void *)(words + 5) > end)
		return 1;
	sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];
	for (i = 5; i < 15; i++) {
		if (4 * i >= bytes)
			break;
		if ((void *)(words + i + 1) > end)
			return 1;
		sum += words[i];
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum ^ 0xffff;
}

/*
 * Past the network header of an unfragmented UDP packet: *offset ends at UDP, *room
 * is how many bytes the IP packet has from there. Returns 0 or OLAF_FRAME_BYPASS.
 */
static __always_inline int olaf_parse_ipv4(void *data, void *end, __u32 *offset, __u32 *room)
{
	struct iphdr *ip = olaf_at(data, *offset);
	__u32 header, total;

	if ((void *)(ip + 1) > end)
		return OLAF_FRAME_BYPASS;
	header = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || total < header ||
	    ip->protocol != IPPROTO_UDP || (ip->frag_off & bpf_htons(OLAF_IP_FRAGMENT)))
		return OLAF_FRAME_BYPASS;
	*offset += header;
	*room = total - header;
	return 0;
}

static __always_inline int olaf_parse_ipv6(void *data, void *end, __u32 *offset, __u32 *room)
{
	struct ipv6hdr *ip = olaf_at(data, *offset);
	__u8 l4_proto;
	__u32 left;
	int i;

	if ((void *)(ip + 1) > end || ip->version != 6)
		return OLAF_FRAME_BYPASS;
	left = bpf_ntohs(ip->payload_len);
	l4_proto = ip->nexthdr;
	*offset += sizeof(*ip);
	for (i = 0; i < OLAF_MAX_EXTENSIONS; i++) {
		struct olaf_extension *extension = olaf_at(data, *offset);
		__u32 bytes;

		if (l4_proto != IPPROTO_HOPOPTS && l4_proto != IPPROTO_DSTOPTS)
			break;
		if ((void *)(extension + 1) > end)
			return OLAF_FRAME_BYPASS;
		l4_proto = extension->next_header;
		bytes = (extension->length + 1) * 8;
		if (bytes > left || *offset + bytes > OLAF_MAX_HEADERS)
			return OLAF_FRAME_BYPASS;
		/* Again, because Linux 6.1 forgets the bounds of what is spilled. */
		*offset = olaf_clamp(*offset + bytes, ETH_HLEN, OLAF_MAX_HEADERS);
		left -= bytes;
	}
	/* Fragments, routing headers and the rest: not ours to take apart. */
	if (l4_proto != IPPROTO_UDP)
		return OLAF_FRAME_BYPASS;
	*room = left;
	return 0;
}

#endif /* OLAF_PACKET_BPF_H */
