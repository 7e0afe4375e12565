// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What a job's node sends beyond one frame for one: TC ingress of the queue's device. XDP makes the
 * frame at hand an order (struct olaf_round_order) and passes it up; everything else passes here
 * untouched, and later filters still run.
 *
 *   COPY   results that no frame will come for leave in clones of this one, a member each
 *   LAST   the same of a queue that goes, in small bursts: what a member's ring drops, nobody sends again
 *   ASK    the kernel is made to ask for the parent's MAC address
 *   ONWARD the frame leaves by the device that the parent is behind. The kernel's neighbour code gives it
 *          its MAC addresses, and keeps it while it asks for them
 */
#include <linux/pkt_cls.h>

#include "bpf/rounds/clones.bpf.h"
#include "bpf/way/solicitation.bpf.h"
#include "olaf/drain.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Clones in a burst of LAST: a quarter of a veth's ring. */
#define OLAF_LAST_COPIES 64

/* Reads the order of a frame; 0 if it is one of ours. From the MAC header: see olaf_token_read(). */
static __always_inline int olaf_order_read(struct __sk_buff *skb, struct olaf_round_order *order)
{
	if (bpf_skb_load_bytes_relative(skb, OLAF_TOKEN_OFFSET, order, sizeof(*order),
					BPF_HDR_START_MAC))
		return -1;
	return (order->eth_proto_be == bpf_htons(ETH_P_IP) ||
		order->eth_proto_be == bpf_htons(ETH_P_IPV6)) &&
			       olaf_cfg.token_secret &&
			       order->secret == OLAF_ROUND_SECRET(olaf_cfg.token_secret) ?
		       0 :
		       -1;
}

/*
 * The kernel asks for the parent's MAC address, to send it a frame that it takes for nothing. Apart,
 * because its frame would lie on the stack of the copies too.
 */
static __noinline int olaf_copies_ask(struct __sk_buff *skb, __u32 job_index)
{
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_destination to = {};

	if (!job || !job->setup.parent_family)
		return TC_ACT_SHOT;
	to.family = job->setup.parent_family;
	olaf_address_copy(to.addr_be, job->setup.parent_addr_be);
	if (olaf_let_kernel_ask(skb, &to))
		return TC_ACT_SHOT;
	return bpf_redirect_neigh(olaf_cfg.ifindex, NULL, 0, 0);
}

/*
 * Generic XDP that had to copy the skb forgot how long its MAC header is, so that the skb begins behind
 * it (as for olaf_token_read()). Begins it with that again. Returns 0, or -1: no memory.
 */
static __always_inline int olaf_order_begins(struct __sk_buff *skb,
					     const struct olaf_round_order *order)
{
	__u64 secret = 0;

	if (!bpf_skb_load_bytes(skb, OLAF_TOKEN_OFFSET + sizeof(order->eth_proto_be), &secret,
				sizeof(secret)) &&
	    secret == order->secret)
		return 0;
	return bpf_skb_change_head(skb, ETH_HLEN, 0) ? -1 : 0;
}

/*
 * The headers of the parent's frame, around a message of so many bytes. The UDP checksum is in the frame
 * already. Returns how many bytes they have; 0: can't.
 */
static __always_inline __u32 olaf_up_dress(struct __sk_buff *skb, const struct olaf_job *job,
					   struct olaf_entry *staged)
{
	__u32 ip_bytes = job->setup.parent_family == 4 ? sizeof(struct olaf_headers4) :
							 sizeof(struct olaf_headers6);
	__u32 header_bytes = ETH_HLEN + ip_bytes;
	struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	struct olaf_round_way way = {};
	__be16 check_be;

	if (skb->len < header_bytes + sizeof(struct olaf_header) ||
	    bpf_skb_load_bytes(skb, header_bytes - sizeof(check_be), &check_be, sizeof(check_be)))
		return 0;
	olaf_parent_ends(job, &way);
	if (way.family == 4)
		olaf_compose4(&staged->message, skb->len - header_bytes, &way.ends);
	else
		olaf_compose6(&staged->message, skb->len - header_bytes, &way.ends);
	udp->check = check_be;
	return olaf_round_dress_link(staged, ip_bytes, &way);
}

/* The frame leaves for the parent. Apart for its stack, as olaf_copies_ask(). */
static __noinline int olaf_copies_up(struct __sk_buff *skb, __u32 job_index)
{
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_entry *staged = olaf_staging();
	__u32 header_bytes, ifindex, bytes = 0;

	if (!job || !staged || !job->setup.parent_family)
		return TC_ACT_SHOT;
	header_bytes = olaf_up_dress(skb, job, staged);
	if (!header_bytes)
		return TC_ACT_SHOT;
	header_bytes = olaf_clamp(header_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	if (bpf_skb_store_bytes(skb, 0, olaf_frame_of(staged, header_bytes), header_bytes, 0))
		return TC_ACT_SHOT;
	ifindex = job->setup.parent_ifindex;
	if (bpf_check_mtu(skb, ifindex, &bytes, 0, 0) == BPF_MTU_CHK_RET_FRAG_NEEDED) {
		olaf_count_job(job_index, up_unfit);
		return TC_ACT_SHOT;
	}
	return bpf_redirect_neigh(ifindex, NULL, 0, 0);
}

SEC("tc")
int olaf_copies(struct __sk_buff *skb)
{
	struct olaf_copying copying = { .skb = skb };
	struct olaf_round_order order;

	if (olaf_order_read(skb, &order))
		return TC_ACT_UNSPEC;
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return TC_ACT_SHOT;
	if (order.work == OLAF_ROUND_ASK)
		return olaf_copies_ask(skb, order.job);
	if (order.work == OLAF_ROUND_ONWARD)
		return olaf_order_begins(skb, &order) ? TC_ACT_SHOT : olaf_copies_up(skb, order.job);
	copying.job = order.job;
	copying.partial = order.partial;
	bpf_loop(order.work == OLAF_ROUND_LAST ? OLAF_LAST_COPIES : OLAF_MOST_COPIES, olaf_copy_next,
		 &copying, 0);
	return TC_ACT_SHOT;
}
