// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Programs at hooks of devices that aren't the queue's: foreign.hpp. A skeleton loads one of them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "olaf/protocol.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile int verdict = 0; /* of foreign_verdict: TC_ACT_* */
const volatile __u32 percent = 0; /* of lose_at_random and slow_at_random: so many frames of 100 */
const volatile __u32 longest = 0; /* of lose_long: bytes, with the Ethernet header */
const volatile __u32 type = 0, action = 0; /* of lose_first: the messages; action 0: any */
const volatile __u32 first = 0; /* of lose_first: so many messages are lost */
const volatile __u8 tagged_mac[ETH_ALEN] = {}; /* of push_tag: the source of frames to tag */
const volatile __u16 tag = 0; /* of push_tag and tag_messages: a VLAN id */
__u64 seen; /* by lose_first and untag: what it acted on */

SEC("?xdp")
int foreign_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

SEC("?tc")
int foreign_verdict(struct __sk_buff *skb)
{
	(void)skb;
	return verdict;
}

SEC("?tc")
int lose_at_random(struct __sk_buff *skb)
{
	(void)skb;
	return bpf_get_prandom_u32() % 100 < percent ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* The bit of a frame that is flipped, behind Ethernet; 0: none, as none of what learns addresses (ARP, ICMPv6). */
static __always_inline __u32 bit_to_flip(__be16 eth_proto_be, __u8 protocol4, __u8 protocol6, __u32 bytes)
{
	__u8 protocol = eth_proto_be == bpf_htons(ETH_P_IP) ? protocol4 : protocol6;

	if (protocol != IPPROTO_UDP || bpf_get_prandom_u32() % 100 >= percent)
		return 0;
	__sync_fetch_and_add(&seen, 1);
	return 8 * ETH_HLEN + bpf_get_prandom_u32() % (8 * (bytes - ETH_HLEN));
}

/* As much of a frame as tells whether it is UDP. */
struct beginning {
	struct ethhdr eth;
	__u8 ip[10];
};

SEC("?tc")
int flip_sent(struct __sk_buff *skb)
{
	struct beginning b;
	__u32 bit;
	__u8 byte;

	if (bpf_skb_load_bytes(skb, 0, &b, sizeof(b)))
		return TC_ACT_UNSPEC;
	bit = bit_to_flip(b.eth.h_proto, b.ip[9], b.ip[6], skb->len);
	if (bit && !bpf_skb_load_bytes(skb, bit / 8, &byte, 1)) {
		byte ^= 1 << bit % 8;
		bpf_skb_store_bytes(skb, bit / 8, &byte, 1, 0);
	}
	return TC_ACT_UNSPEC;
}

/* By XDP, since a filter of TC comes behind GRO, which has verified UDP's checksum by then. */
SEC("?xdp")
int flip_received(struct xdp_md *ctx)
{
	struct beginning b;
	__u32 bit;
	__u8 byte;

	if (bpf_xdp_load_bytes(ctx, 0, &b, sizeof(b)))
		return XDP_PASS;
	bit = bit_to_flip(b.eth.h_proto, b.ip[9], b.ip[6], bpf_xdp_get_buff_len(ctx));
	if (bit && !bpf_xdp_load_bytes(ctx, bit / 8, &byte, 1)) {
		byte ^= 1 << bit % 8;
		bpf_xdp_store_bytes(ctx, bit / 8, &byte, 1);
	}
	return XDP_PASS;
}

SEC("?tc")
int lose_long(struct __sk_buff *skb)
{
	return skb->len > longest ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

SEC("?tc")
int lose_first(struct __sk_buff *skb)
{
	struct olaf_header h;

	if (bpf_skb_load_bytes(skb, ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr), &h, sizeof(h)) ||
	    h.magic_be != bpf_htons(OLAF_MAGIC) || h.version != OLAF_ROUNDS_VERSION || h.type != type ||
	    (action && h.action_be != bpf_htonl(action)))
		return TC_ACT_UNSPEC;
	return __sync_fetch_and_add(&seen, 1) < first ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* To class 1:2 of the device's qdisc. */
SEC("?tc")
int slow_at_random(struct __sk_buff *skb)
{
	if (bpf_get_prandom_u32() % 100 < percent)
		skb->priority = 0x10002;
	return TC_ACT_UNSPEC;
}

SEC("?tc")
int push_tag(struct __sk_buff *skb)
{
	__u8 mac[ETH_ALEN];

	if (bpf_skb_load_bytes(skb, ETH_ALEN, mac, sizeof(mac)))
		return TC_ACT_UNSPEC;
	for (int i = 0; i < ETH_ALEN; i++)
		if (mac[i] != tagged_mac[i])
			return TC_ACT_UNSPEC;
	bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), tag);
	return TC_ACT_UNSPEC;
}

/* Our messages over IPv4. */
SEC("?tc")
int tag_messages(struct __sk_buff *skb)
{
	struct udphdr udp;

	if (!bpf_skb_load_bytes(skb, ETH_HLEN + sizeof(struct iphdr), &udp, sizeof(udp)) &&
	    udp.dest == bpf_htons(OLAF_DEFAULT_PORT))
		bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), tag);
	return TC_ACT_UNSPEC;
}

SEC("?tc")
int untag(struct __sk_buff *skb)
{
	if (!skb->vlan_present)
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&seen, 1);
	bpf_skb_vlan_pop(skb);
	return TC_ACT_UNSPEC;
}
