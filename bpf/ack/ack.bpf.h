/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From an skb to an ACK: Ethernet, up to two VLAN tags (besides one that the skb carries
 * beside its bytes), IPv4 with options or IPv6 with extension headers, UDP *from* the
 * server's port, protocol version 1, type ACK, every length agreeing with every other.
 *
 * What is anything else, fragments and segmentation offload included, is none of our
 * business: there is no malformed ACK, only a frame that passes.
 *
 * Packet bytes are only read here, and written elsewhere with helpers: a program that
 * writes them directly makes the kernel copy every cloned skb, and TCP sends clones.
 */
#ifndef OLAF_ACK_BPF_H
#define OLAF_ACK_BPF_H

#include "bpf/packet/parse.bpf.h"
#include "olaf/members.h"

/* The most tags of a frame: two in its bytes, and one that the skb carries beside them. */
#define OLAF_MAX_WAY_TAGS (OLAF_MAX_VLAN_TAGS + 1)

/* Where an ACK goes, layer by layer: what differs between its copies. */
struct olaf_way {
	__u8 dmac[ETH_ALEN];
	__u8 smac[ETH_ALEN];
	__u8 family; /* 4 or 6 */
	__u8 tags;
	__u8 hops; /* TTL or hop limit */
	__u8 pad;
	struct olaf_tag tag[OLAF_MAX_WAY_TAGS]; /* outermost first */
	__be32 saddr_be[4]; /* IPv4 in [0], and zeros, so that sums are of eight words for both */
	__be32 daddr_be[4]; /* directly behind saddr_be, as in a frame */
	__be16 source_be; /* UDP ports, as in a frame */
	__be16 dest_be;
	__be32 worker_be; /* addressee */
};

/*
 * Map olaf_acks: the ACK at hand. Key 0, one copy a CPU. Writer and reader: our TC
 * programs, for the skb they run on, with softirqs off. Copies leave while the program
 * runs and meet it again on the same CPU: `copying` tells it to leave them, and this
 * struct, alone.
 */
struct olaf_ack {
	__u32 copying; /* set while copies leave */
	__u8 family; /* 4 or 6 */
	__u8 l3_offset; /* of the network header */
	__u8 l4_offset; /* of the UDP header */
	__u8 pad;
	__u16 udp_bytes; /* 8 + 48 + 8 x lanes */
	__be16 udp_check; /* as it came; 0: the sender computed none */
	__be32 saddr_be[4]; /* whom it is from; IPv4 in [0] */
	struct olaf_header message; /* wire form, and what it was made */
	/* Copying alone: */
	__u64 number; /* of those that were copied on this CPU; never 0 */
	__u32 returning; /* it came from upstream, to be turned round */
	__u32 heir; /* 1 + worker whose copy the ACK itself becomes; 0: nobody's */
	__u32 copies; /* that left */
	__u32 turned; /* the skb was turned to a member, whether its copy left or not */
	__u32 broken; /* the skb is neither what it was nor what it was to be */
	__u64 now_ns;
	struct olaf_way origin; /* as it came */
	struct olaf_way here; /* as it stands */
	struct olaf_way next; /* as olaf_ack_turn() shall make it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_ack);
} olaf_acks SEC(".maps");

static __always_inline struct olaf_ack *olaf_ack_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_acks, &zero);
}

/* What a look at the linear part of an skb tells. */
enum olaf_ack_look {
	OLAF_ACK_NONE, /* no ACK of ours */
	OLAF_ACK_FOUND, /* one, and *ack describes it */
	OLAF_ACK_SHORT, /* can't tell: the linear part ends within the headers */
};

/* The UDP header, which must come from our port, is at `offset`; `room`: IP payload from there. */
static __always_inline enum olaf_ack_look olaf_ack_message(struct __sk_buff *skb,
							    struct olaf_ack *ack, __be16 port_be,
							    __u32 offset, __u32 room)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct olaf_header *header;
	struct udphdr *udp;
	__u32 udp_bytes;

	if (offset > OLAF_MAX_HEADERS - sizeof(*udp))
		return OLAF_ACK_NONE;
	udp = olaf_at(data, offset);
	if ((void *)(udp + 1) > end)
		return OLAF_ACK_SHORT;
	if (udp->source != port_be)
		return OLAF_ACK_NONE;
	header = (void *)(udp + 1);
	if ((void *)(header + 1) > end)
		return OLAF_ACK_SHORT;
	udp_bytes = bpf_ntohs(udp->len);
	if (header->magic_be != bpf_htons(OLAF_MAGIC) || header->version != OLAF_VERSION ||
	    header->type != OLAF_ACK || bpf_ntohs(header->lanes_be) > OLAF_MAX_LANES ||
	    udp_bytes != sizeof(*udp) + sizeof(*header) + 8 * bpf_ntohs(header->lanes_be) ||
	    udp_bytes != room || offset + udp_bytes > skb->len)
		return OLAF_ACK_NONE;
	ack->l4_offset = offset;
	ack->udp_bytes = udp_bytes;
	ack->udp_check = udp->check;
	ack->message = *header;
	return OLAF_ACK_FOUND;
}

/* One look at what is linear of the skb. */
static __always_inline enum olaf_ack_look olaf_ack_look(struct __sk_buff *skb, struct olaf_ack *ack,
							 __be16 port_be)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u32 offset = 0, room = 0;
	struct ipv6hdr *ip6;
	struct iphdr *ip4;
	__be16 eth_proto_be;

	eth_proto_be = olaf_parse_ethernet(data, end, &offset);
	ack->l3_offset = offset;
	ip6 = olaf_at(data, offset);
	if (eth_proto_be == bpf_htons(ETH_P_IP)) {
		ack->family = 4;
		ip4 = (void *)ip6;
		if ((void *)(ip4 + 1) > end)
			return OLAF_ACK_SHORT;
		__builtin_memset(ack->saddr_be, 0, sizeof(ack->saddr_be));
		ack->saddr_be[0] = ip4->saddr;
		if (olaf_parse_ipv4(data, end, &offset, &room))
			return OLAF_ACK_NONE;
	} else if (eth_proto_be == bpf_htons(ETH_P_IPV6)) {
		ack->family = 6;
		if ((void *)(ip6 + 1) > end)
			return OLAF_ACK_SHORT;
		__builtin_memcpy(ack->saddr_be, &ip6->saddr, sizeof(ack->saddr_be));
		if (olaf_parse_ipv6(data, end, &offset, &room))
			return ip6->nexthdr == IPPROTO_HOPOPTS || ip6->nexthdr == IPPROTO_DSTOPTS ?
				       OLAF_ACK_SHORT :
				       OLAF_ACK_NONE;
	} else {
		return eth_proto_be ? OLAF_ACK_NONE : OLAF_ACK_SHORT;
	}
	return olaf_ack_message(skb, ack, port_be, offset, room);
}

/*
 * Is the skb an ACK from this UDP port? Fills *ack. Its headers are linear from here on: where a
 * driver or a bridge left them in fragments, they are pulled, which changes no byte.
 */
static __always_inline int olaf_ack_parse(struct __sk_buff *skb, struct olaf_ack *ack,
					  __be16 port_be)
{
	enum olaf_ack_look look = olaf_ack_look(skb, ack, port_be);
	__u32 linear = skb->data_end - skb->data, wanted = skb->len;

	if (look == OLAF_ACK_SHORT && linear < wanted) {
		if (wanted > OLAF_MAX_HEADERS + sizeof(struct olaf_header))
			wanted = OLAF_MAX_HEADERS + sizeof(struct olaf_header);
		if (linear >= wanted || bpf_skb_pull_data(skb, wanted))
			return 0;
		look = olaf_ack_look(skb, ack, port_be);
	}
	return look == OLAF_ACK_FOUND && !skb->gso_size;
}

#endif /* OLAF_ACK_BPF_H */
