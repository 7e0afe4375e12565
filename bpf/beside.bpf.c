// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Notes for generic XDP: what each skb says beside its bytes (bpf/packet/beside.bpf.h).
 *
 * The tracepoint netif_receive_skb lies in the kernel's receive path just before generic XDP,
 * on the same CPU and for the same skb. A frame that comes to the device by another one (a
 * VLAN device, a macvlan) passes no tracepoint of its own: of that nothing is known.
 *
 * It runs for every device of the host; most calls end at the first comparison. The layout of
 * struct sk_buff is looked up in the kernel's BTF when the object is loaded (CO-RE).
 */
#include "bpf/netdev.bpf.h"
#include "bpf/packet/note.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define OLAF_CHECKSUM_PARTIAL 3 /* the kernel's CHECKSUM_PARTIAL */

struct sk_buff {
	struct net_device *dev;
	__u32 vlan_all; /* tag and its protocol; 0: none */
	__u8 ip_summed : 2;
} OLAF_KERNEL;

/* Until Linux 6.1. */
struct sk_buff___vlan_present {
	__u8 vlan_present : 1;
} OLAF_KERNEL;

/* The queue's device. Set before load: a device keeps both for as long as it has the queue. */
const volatile __u32 olaf_beside_ifindex = 0;
const volatile __u32 olaf_beside_netns = 0;

static __always_inline int olaf_skb_is_tagged(struct sk_buff *skb)
{
	struct sk_buff___vlan_present *older = (void *)skb;

	if (bpf_core_field_exists(older->vlan_present))
		return BPF_CORE_READ_BITFIELD_PROBED(older, vlan_present);
	return BPF_CORE_READ(skb, vlan_all) != 0;
}

/* skb: see trace/events/net.h */
SEC("raw_tp/netif_receive_skb")
int olaf_beside_note(struct bpf_raw_tracepoint_args *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx->args[0];
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	__u32 zero = 0, known = OLAF_BESIDE_KNOWN, *note;

	if ((__u32)BPF_CORE_READ(dev, ifindex) != olaf_beside_ifindex ||
	    olaf_netns_of(dev) != olaf_beside_netns)
		return 0;
	note = bpf_map_lookup_elem(&olaf_beside, &zero);
	if (!note)
		return 0;
	if (olaf_skb_is_tagged(skb))
		known |= OLAF_BESIDE_TAGGED;
	if (BPF_CORE_READ_BITFIELD_PROBED(skb, ip_summed) == OLAF_CHECKSUM_PARTIAL)
		known |= OLAF_BESIDE_PARTIAL;
	*note = known;
	return 0;
}
