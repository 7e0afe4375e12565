/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a frame to an update: Ethernet, up to two VLAN tags, IPv4 with options or IPv6 with extension
 * headers, UDP to our port, the version of the protocol, and the fields of an UPDATE.
 *
 * What isn't a message of ours is none of our business (bypass). A message of ours that breaks the protocol
 * is malformed. Every offset comes from the network: each is bounded before it is used.
 */
#ifndef OLAF_PARSE_BPF_H
#define OLAF_PARSE_BPF_H

#include <stddef.h>

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "bpf/claim.bpf.h"

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

/* Sum of the pseudo header: addresses, protocol and length. */
static __always_inline __u64 olaf_pseudo_sum(void *ip, const void *end, __u32 family,
					     const struct udphdr *udp)
{
	__be32 *addresses_be = ip + (family == 4 ? offsetof(struct iphdr, saddr) :
						   offsetof(struct ipv6hdr, saddr));
	__u64 sum = bpf_htons(IPPROTO_UDP) + udp->len;
	int i;

	if ((void *)(addresses_be + 2) > end)
		return sum;
	sum += (__u64)addresses_be[0] + addresses_be[1];
	if (family == 4 || (void *)(addresses_be + 8) > end)
		return sum;
	for (i = 2; i < 8; i++)
		sum += addresses_be[i];
	return sum;
}

/* Internet checksum of an IPv4 header, options included: 0 when right. */
static __always_inline __u32 olaf_ipv4_checksum(void *data, void *end, __u32 offset, __u32 bytes)
{
	__u32 *ip = olaf_at(data, offset);
	__u64 sum = 0;
	__u32 i;

	if ((void *)(ip + 5) > end)
		return 1;
	sum = (__u64)ip[0] + ip[1] + ip[2] + ip[3] + ip[4];
	for (i = 5; i < 15; i++) {
		if (4 * i >= bytes)
			break;
		if ((void *)(ip + i + 1) > end)
			return 1;
		sum += ip[i];
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

static __always_inline int olaf_malformed(enum olaf_malformed reason)
{
	return OLAF_FRAME_MALFORMED + reason;
}

/* Checks an UPDATE's own fields and takes them over, in host order. */
static __always_inline int olaf_parse_update(const struct olaf_header *header,
					     struct olaf_pending *update)
{
	__u16 flags = bpf_ntohs(header->flags_be);
	__u32 format = (flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT;

	update->lanes = bpf_ntohs(header->lanes_be);
	update->flags = flags & (OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK);
	update->cluster = bpf_ntohl(header->cluster_be);
	update->worker = bpf_ntohl(header->worker_be);
	update->sequence = bpf_ntohl(header->sequence_be);
	update->count = bpf_ntohl(header->count_be);
	update->generated_ns = bpf_be64_to_cpu(header->generated_ns_be);
	update->reward = bpf_be64_to_cpu(header->reward_be);
	update->model_version = bpf_ntohl(header->model_version_be);
	update->segment = bpf_ntohs(header->segment_be);
	update->segments = bpf_ntohs(header->segments_be);

	if (update->lanes < (flags & OLAF_FLAG_CHECKSUM ? 2 : 1))
		return olaf_malformed(OLAF_MALFORMED_LANES);
	if (format > OLAF_FORMAT_I64X1)
		return olaf_malformed(OLAF_MALFORMED_FORMAT);
	if (!update->count)
		return olaf_malformed(OLAF_MALFORMED_COUNT);
	if (update->segment >= update->segments)
		return olaf_malformed(OLAF_MALFORMED_SEGMENT);
	return OLAF_FRAME_UPDATE;
}

/*
 * Ethernet and IP: *offset ends at UDP, *room is how many bytes the IP packet has from there.
 * Returns 0 or OLAF_FRAME_BYPASS.
 */
static __always_inline int olaf_parse_network(void *data, void *end, struct olaf_arrival *a,
					      __u32 *offset, __u32 *room)
{
	__be16 eth_proto_be = olaf_parse_ethernet(data, end, offset);

	a->update.l3_offset = *offset;
	if (eth_proto_be == bpf_htons(ETH_P_IP)) {
		a->update.family = 4;
		return olaf_parse_ipv4(data, end, offset, room);
	}
	if (eth_proto_be == bpf_htons(ETH_P_IPV6)) {
		a->update.family = 6;
		return olaf_parse_ipv6(data, end, offset, room);
	}
	return OLAF_FRAME_BYPASS;
}

/*
 * Do the lengths of UDP, IP and the frame agree with the message's, and is what protects them
 * right? UDP is at `offset`, and header and message are within data ... end. Fills *a's lengths.
 * Returns OLAF_FRAME_UPDATE, or malformed.
 */
static __always_inline int olaf_check_lengths(struct xdp_md *ctx, void *data, void *end, __u32 whole,
					      struct olaf_arrival *a, __u32 offset)
{
	struct udphdr *udp = olaf_at(data, offset);
	struct olaf_header *header = (void *)(udp + 1);
	__u32 udp_bytes;

	if ((void *)(header + 1) > end)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	udp_bytes = bpf_ntohs(udp->len);
	if (udp_bytes != sizeof(*udp) + sizeof(*header) + 8 * bpf_ntohs(header->lanes_be))
		return olaf_malformed(OLAF_MALFORMED_LENGTH);

	a->update.header_bytes = offset + sizeof(*udp);
	a->message_bytes = udp_bytes - sizeof(*udp);
	a->frame_bytes = end - data;
	if (a->frame_bytes < offset + udp_bytes)
		a->frame_bytes = ctx ? bpf_xdp_get_buff_len(ctx) : whole; /* the rest: in fragments */
	if (a->room < udp_bytes || a->frame_bytes < offset + udp_bytes)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	/* Bytes behind UDP would be missing from a departure, whose IP header counts them. */
	if (a->room != udp_bytes)
		return olaf_malformed(OLAF_MALFORMED_LENGTH);
	if (a->update.family == 4 &&
	    olaf_ipv4_checksum(data, end, a->update.l3_offset, offset - a->update.l3_offset))
		return olaf_malformed(OLAF_MALFORMED_IP_CHECKSUM);
	if (a->update.family == 6 && !udp->check)
		return olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
	return OLAF_FRAME_UPDATE;
}

/*
 * Of a message of ours that is no UPDATE: what it is, by its version and type. A CONTROL message of version
 * 1 is a cluster's, unless there is a job of that id: then it is one of a job, in another version. The
 * program of rounds tells its sender so.
 */
static __always_inline int olaf_frame_of_other(__u8 version, __u8 type)
{
	if (type == OLAF_CONTROL && olaf_cfg.round_slots)
		return OLAF_FRAME_ROUND;
	if (version != OLAF_VERSION && version != OLAF_ROUNDS_VERSION)
		return olaf_malformed(OLAF_MALFORMED_VERSION);
	if (type == OLAF_CONTROL)
		return OLAF_FRAME_BYPASS;
	if (type == OLAF_CONTRIBUTION || type == OLAF_RESULT)
		return version == OLAF_ROUNDS_VERSION ? OLAF_FRAME_ROUND :
							olaf_malformed(OLAF_MALFORMED_VERSION);
	if (type != OLAF_ACK)
		return olaf_malformed(OLAF_MALFORMED_TYPE);
	return version == OLAF_VERSION ? OLAF_FRAME_BYPASS : olaf_malformed(OLAF_MALFORMED_VERSION);
}

/*
 * Parses the frame that begins with data ... end into *a. Its length is `whole`, or with a
 * ctx the frame's own: that is only asked for if what is at hand isn't all. Returns enum
 * olaf_frame; *a is complete only for an update.
 */
static __always_inline int olaf_parse_bytes(struct xdp_md *ctx, void *data, void *end, __u32 whole,
					    struct olaf_arrival *a)
{
	struct olaf_header *header;
	struct udphdr *udp;
	__u32 offset = 0, room = 0;
	int frame;

	if (olaf_parse_network(data, end, a, &offset, &room) ||
	    offset > OLAF_MAX_HEADERS - sizeof(*udp))
		return OLAF_FRAME_BYPASS;

	udp = olaf_at(data, offset);
	header = (void *)(udp + 1);
	if ((void *)&header->version > end || udp->dest != olaf_cfg.port_be ||
	    header->magic_be != bpf_htons(OLAF_MAGIC))
		return OLAF_FRAME_BYPASS;

	/* From here on it is a message of ours. */
	if (bpf_ntohs(udp->len) < sizeof(*udp) + sizeof(*header))
		return olaf_malformed(OLAF_MALFORMED_LENGTH);
	if ((void *)(header + 1) > end)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	a->update.l4_offset = offset;
	a->room = room;
	if (header->type != OLAF_UPDATE)
		return olaf_frame_of_other(header->version, header->type);
	if (header->version != OLAF_VERSION)
		return olaf_malformed(OLAF_MALFORMED_VERSION);
	frame = olaf_check_lengths(ctx, data, end, whole, a, offset);
	return frame == OLAF_FRAME_UPDATE ? olaf_parse_update(header, &a->update) : frame;
}

static __always_inline int olaf_parse(struct xdp_md *ctx, struct olaf_arrival *a)
{
	return olaf_parse_bytes(ctx, (void *)(long)ctx->data, (void *)(long)ctx->data_end, 0, a);
}

/*
 * Is this the address in the frame's IP header, `at4` bytes into an IPv4 header or `at6` into an IPv6 one?
 * IPv4 in [0].
 */
static __always_inline int olaf_ip_has(void *data, const void *end, const struct olaf_arrival *a,
				       const __be32 addr_be[4], __u32 family, __u32 at4, __u32 at6)
{
	void *ip = olaf_at(data, a->update.l3_offset);

	if (family == 4) {
		ip += at4;
		return ip + sizeof(__be32) <= end && *(__be32 *)ip == addr_be[0];
	}
	ip += at6;
	return ip + 4 * sizeof(__be32) <= end && olaf_address_same((__be32 *)ip, addr_be);
}

/* Does the frame's sender have this address? */
static __always_inline int olaf_sender_is(void *data, const void *end, const struct olaf_arrival *a,
					  const __be32 addr_be[4], __u32 family)
{
	return family == a->update.family &&
	       olaf_ip_has(data, end, a, addr_be, family, offsetof(struct iphdr, saddr),
			   offsetof(struct ipv6hdr, saddr));
}

/* Is the frame sent to this address? It is known to have a whole IP header of that version. */
static __always_inline int olaf_sender_meant(void *data, const void *end,
					     const struct olaf_arrival *a, const __be32 addr_be[4],
					     __u32 family)
{
	return olaf_ip_has(data, end, a, addr_be, family, offsetof(struct iphdr, daddr),
			   offsetof(struct ipv6hdr, daddr));
}

/* The UDP port that the frame came from; 0 if the frame ends before it. */
static __always_inline __be16 olaf_sender_port(void *data, const void *end,
					       const struct olaf_arrival *a)
{
	struct udphdr *udp = olaf_at(data, a->update.l4_offset);

	return (void *)(udp + 1) <= end ? udp->source : 0;
}

#endif /* OLAF_PARSE_BPF_H */
