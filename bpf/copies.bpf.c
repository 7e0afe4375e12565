// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What a job's node sends beyond one frame for one: TC ingress of the queue's device. XDP makes the
 * frame at hand an order (struct olaf_round_order) and passes it up; everything else passes here
 * untouched, and later filters still run.
 *
 *   COPY   results that no frame will come for leave in clones of this one, a member each
 *   ASK    the kernel is made to ask for the parent's MAC address
 */
#include <linux/pkt_cls.h>

#include "bpf/rounds/group_way.bpf.h"
#include "bpf/rounds/line.bpf.h"
#include "bpf/way/solicitation.bpf.h"
#include "olaf/drain.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Clones that one order sends at most: the next order goes on. */
#define OLAF_MOST_COPIES 1024

struct olaf_copying {
	struct __sk_buff *skb;
	__u32 job;
	__u32 partial; /* as the order has it */
};

/* Reads the order of a frame; 0 if it is one of ours. From the MAC header: see olaf_token_read(). */
static __always_inline int olaf_order_read(struct __sk_buff *skb, struct olaf_round_order *order)
{
	if (bpf_skb_load_bytes_relative(skb, OLAF_TOKEN_OFFSET, order, sizeof(*order),
					BPF_HDR_START_MAC))
		return -1;
	return order->eth_proto_be == bpf_htons(ETH_P_IP) && olaf_cfg.token_secret &&
			       order->secret == OLAF_ROUND_SECRET(olaf_cfg.token_secret) ?
		       0 :
		       -1;
}

/* Stages the buffer's result for `rank`, or OLAF_EVERY_WORKER. Under its slot's lock. Returns bytes of headers; 0: can't. */
static __always_inline __u32 olaf_copy_stage(struct olaf_entry *staged, const struct olaf_job *job,
					     __u32 job_index, struct olaf_round_buffer *buffer,
					     __u32 index, __u32 rank, __u32 partial)
{
	__u32 count = olaf_clamp(job->setup.lanes, 1, olaf_cfg.max_lanes), header_bytes;
	struct olaf_round_way way = {};
	__u64 sum = 0;

	if (!olaf_result_way(job, job_index, rank, buffer->round, &way))
		return 0;
	olaf_result_say(&staged->message, job, rank, buffer, count);
	if (way.family == 6)
		sum = olaf_round_result_sum(buffer, index, count);
	header_bytes = olaf_round_dress(staged, count, sum, &way);
	if (rank == OLAF_EVERY_WORKER)
		olaf_limit_hops(staged, job);
	if (!partial)
		return header_bytes;
	/* The device adds up from where UDP began in the frame that the order was. */
	if (partial != header_bytes)
		return 0;
	olaf_round_sum_partly(staged, header_bytes, way.family);
	return header_bytes;
}

/* The staged headers and the buffer's lanes become the skb. Returns 0, or -1: no memory. */
static __always_inline int olaf_copy_put(struct __sk_buff *skb, struct olaf_entry *staged,
					 __u32 header_bytes, const __u64 *lanes, __u32 count)
{
	__u32 head = olaf_clamp(header_bytes + sizeof(struct olaf_header), ETH_HLEN,
				OLAF_MAX_HEADERS + sizeof(struct olaf_header));
	__u32 bytes = olaf_clamp(8 * count, 8, 8 * olaf_cfg.max_lanes);

	if (bpf_skb_change_tail(skb, head + bytes, 0) ||
	    bpf_skb_store_bytes(skb, 0, olaf_frame_of(staged, header_bytes), head, 0))
		return -1;
	return bpf_skb_store_bytes(skb, head, lanes, bytes, 0) ? -1 : 0;
}

/*
 * The delivery becomes the skb, for *taken members. Under its slot's lock. Returns whether it did.
 */
static __always_inline int olaf_copy_write(struct __sk_buff *skb, __u32 job_index, __u32 partial,
					   struct olaf_round_buffer *buffer,
					   const struct olaf_delivery *delivery, __u32 *taken)
{
	__u64 *lanes = olaf_round_lanes_at(delivery->buffer);
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_entry *staged = olaf_staging();
	__u32 header_bytes;

	if (!lanes || !job || !staged || !olaf_round_is_due(job, job_index, buffer, delivery))
		return 0;
	*taken = olaf_delivery_take(job, job_index, buffer, delivery);
	if (!*taken)
		return 0;
	header_bytes = olaf_copy_stage(staged, job, job_index, buffer, delivery->buffer, delivery->rank,
				       partial);
	return header_bytes &&
	       !olaf_copy_put(skb, staged, header_bytes, lanes, job->setup.lanes);
}

/*
 * Sends the next result in line as a clone. Returns whether there was one. A global function:
 * verified once.
 */
__noinline int olaf_copy_one(struct __sk_buff *skb, __u32 job_index, __u32 partial)
{
	struct olaf_job *job = olaf_job_at(job_index);
	struct olaf_delivery delivery = {};
	struct olaf_round_slot *slot;
	__u32 taken;
	int written = 0;

	if (!job || !olaf_line_next(job, &delivery))
		return 0;
	taken = delivery.rank != OLAF_EVERY_WORKER;
	slot = olaf_round_slot_at(delivery.buffer / OLAF_ROUND_BUFFERS);
	if (slot && olaf_lock(&slot->lock)) {
		written = olaf_copy_write(skb, job_index, partial, &slot->buffer[delivery.buffer & 1],
					  &delivery, &taken);
		olaf_unlock(&slot->lock);
	}
	/* What the device refuses is asked for again by whoever misses it. */
	if (!written || bpf_clone_redirect(skb, olaf_cfg.ifindex, 0))
		olaf_count_job_by(job_index, undelivered, taken);
	else if (delivery.rank == OLAF_EVERY_WORKER)
		olaf_count_job(job_index, multicast);
	else
		olaf_count_job(job_index, copied);
	return 1;
}

static long olaf_copy_next(__u32 turn, struct olaf_copying *copying)
{
	(void)turn;
	/* What a global function returns is unknown to the verifier, which wants 0 or 1 here. */
	return olaf_clamp(!olaf_copy_one(copying->skb, copying->job, copying->partial), 0, 1);
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
	copying.job = order.job;
	copying.partial = order.partial;
	bpf_loop(OLAF_MOST_COPIES, olaf_copy_next, &copying, 0);
	return TC_ACT_SHOT;
}
