// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Programs at hooks of devices that aren't the queue's: foreign.hpp. A skeleton loads one of them. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
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
const volatile __u16 tag = 0; /* of push_tag: a VLAN id */
__u64 seen; /* by lose_first: its messages */

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
	    h.magic_be != bpf_htons(OLAF_MAGIC) || h.version != OLAF_VERSION || h.type != type ||
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
