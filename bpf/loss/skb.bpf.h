/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the loss programs read of the kernel's structs, and the update that an skb carries. The
 * layouts are looked up in the kernel's BTF when the object is loaded (CO-RE).
 */
#ifndef OLAF_SKB_BPF_H
#define OLAF_SKB_BPF_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "bpf/netdev.bpf.h"
#include "bpf/packet/own.bpf.h"

struct sk_buff {
	struct net_device *dev;
	unsigned long _skb_refdst;
	int skb_iif;
	__u16 queue_mapping;
	__u16 mac_header;
	unsigned int len;
	unsigned char *head;
	unsigned char *data;
} OLAF_KERNEL;

#define OLAF_LINK_STARTED (1UL << 0)
#define OLAF_LINK_NO_CARRIER (1UL << 2)

struct sock_common {
	possible_net_t skc_net;
} OLAF_KERNEL;

struct sock {
	struct sock_common __sk_common;
} OLAF_KERNEL;

struct nsproxy {
	struct net *net_ns;
} OLAF_KERNEL;

struct task_struct {
	struct nsproxy *nsproxy;
} OLAF_KERNEL;

#define OLAF_SKB_VLAN_TAGS 2
#define OLAF_SKB_EXTENSIONS 4
#define OLAF_SKB_FRAGMENT 0x3fff /* more-fragments flag and fragment offset */

/* A frame on its way through the kernel. */
struct olaf_skb {
	const void *frame; /* its MAC header */
	__u32 bytes; /* from there to its end */
	__be32 daddr_be[4]; /* its destination as olaf_own has it */
	struct olaf_header message; /* wire form */
};

/* Is the device down, or without a carrier? */
static __always_inline int olaf_link_is_down(const struct net_device *dev)
{
	unsigned long state = BPF_CORE_READ(dev, state);

	return !(state & OLAF_LINK_STARTED) || (state & OLAF_LINK_NO_CARRIER);
}

/* Past Ethernet and VLAN tags. Returns the EtherType, 0 if it can't be read. */
static __always_inline __be16 olaf_skb_ethernet(const void *frame, __u32 *offset)
{
	__be16 proto_be;
	int i;

	*offset = ETH_HLEN;
	if (bpf_probe_read_kernel(&proto_be, sizeof(proto_be), frame + ETH_HLEN - 2))
		return 0;
	for (i = 0; i < OLAF_SKB_VLAN_TAGS; i++) {
		if (proto_be != bpf_htons(ETH_P_8021Q) && proto_be != bpf_htons(ETH_P_8021AD))
			break;
		if (bpf_probe_read_kernel(&proto_be, sizeof(proto_be), frame + *offset + 2))
			return 0;
		*offset += 4;
	}
	return proto_be;
}

/*
 * Past an IPv4 header, whose destination it takes. Returns whether whole UDP follows, as the
 * queue sees it: a packet that is shorter than its header was none of the queue's.
 */
static __always_inline int olaf_skb_ipv4(const void *frame, __be32 daddr_be[4], __u32 *offset)
{
	struct iphdr four;

	if (bpf_probe_read_kernel(&four, sizeof(four), frame + *offset))
		return 0;
	*offset += 4 * four.ihl;
	olaf_map_address(daddr_be, &four.daddr, 4);
	return four.version == 4 && four.ihl >= 5 && bpf_ntohs(four.tot_len) >= 4 * four.ihl &&
	       four.protocol == IPPROTO_UDP && !(four.frag_off & bpf_htons(OLAF_SKB_FRAGMENT));
}

/* The same for IPv6. */
static __always_inline int olaf_skb_ipv6(const void *frame, __be32 daddr_be[4], __u32 *offset)
{
	__u32 left, bytes;
	__u8 extension[2];
	struct ipv6hdr six;
	int i;

	if (bpf_probe_read_kernel(&six, sizeof(six), frame + *offset) || six.version != 6)
		return 0;
	*offset += sizeof(six);
	olaf_map_address(daddr_be, six.daddr.in6_u.u6_addr32, 6);
	extension[0] = six.nexthdr;
	left = bpf_ntohs(six.payload_len);
	for (i = 0; i < OLAF_SKB_EXTENSIONS; i++) {
		if (extension[0] != IPPROTO_HOPOPTS && extension[0] != IPPROTO_DSTOPTS)
			break;
		if (bpf_probe_read_kernel(extension, sizeof(extension), frame + *offset))
			return 0;
		bytes = 8 * (extension[1] + 1);
		if (bytes > left || *offset + bytes > OLAF_MAX_HEADERS - sizeof(struct udphdr))
			return 0;
		*offset += bytes;
		left -= bytes;
	}
	return extension[0] == IPPROTO_UDP;
}

/*
 * Reads the update that the skb carries to UDP port `port_be`. What isn't whole was never the
 * queue's; behind its end lies what the memory held before. Nor was what says a count that no queue
 * admits: a frame spoilt on its way that came before the entrance was there. Returns 0, or -1: none.
 */
static __always_inline int olaf_skb_update(const struct sk_buff *skb, __be16 port_be,
					   struct olaf_skb *into)
{
	const void *frame = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, mac_header);
	struct udphdr udp;
	__be16 proto_be;
	int whole = 0;
	__u32 offset;

	into->frame = frame;
	into->bytes = (const void *)BPF_CORE_READ(skb, data) - frame + BPF_CORE_READ(skb, len);
	proto_be = olaf_skb_ethernet(frame, &offset);
	if (proto_be == bpf_htons(ETH_P_IP))
		whole = olaf_skb_ipv4(frame, into->daddr_be, &offset);
	else if (proto_be == bpf_htons(ETH_P_IPV6))
		whole = olaf_skb_ipv6(frame, into->daddr_be, &offset);
	if (!whole || bpf_probe_read_kernel(&udp, sizeof(udp), frame + offset) || udp.dest != port_be ||
	    offset + bpf_ntohs(udp.len) > into->bytes ||
	    bpf_probe_read_kernel(&into->message, sizeof(into->message),
				  frame + offset + sizeof(udp)))
		return -1;
	if (into->message.magic_be != bpf_htons(OLAF_MAGIC) ||
	    bpf_ntohs(udp.len) != sizeof(udp) + sizeof(into->message) +
					  8 * bpf_ntohs(into->message.lanes_be) ||
	    into->message.version != OLAF_VERSION || into->message.type != OLAF_UPDATE ||
	    bpf_ntohl(into->message.count_be) > OLAF_LIMIT_MAX_COUNT)
		return -1;
	return 0;
}

#endif /* OLAF_SKB_BPF_H */
