/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stamping: this queue's state, N, Qmax and Qn, into an ACK that passes (protocol.md;
 * OLAF paper sections 5 and 7, downlink).
 *
 * The checksum is corrected by the difference, with a helper: it leaves a UDP checksum
 * of 0 alone, and one that a local socket left to the device, where only the pseudo
 * header's sum stands, which no payload changes.
 */
#ifndef OLAF_ACK_STAMP_BPF_H
#define OLAF_ACK_STAMP_BPF_H

#include "bpf/ack/ack_counters.bpf.h"
#include "bpf/ack/ack_way.bpf.h"
#include "bpf/order/ring.bpf.h"
#include "bpf/slots/active.bpf.h"
#include "olaf/congestion.h"

/* Looks at a value that an epoch's turn rewrites; beyond that, take it as it is. */
#define OLAF_ACTIVE_LOOKS 4

/* The bytes of a message from its flags to its queue length: what a stamp may change. */
#define OLAF_STAMP_FIRST offsetof(struct olaf_header, flags_be)
#define OLAF_STAMP_END offsetof(struct olaf_header, model_version_be)

/*
 * N now. Without the lock, which arrivals on every CPU take: looked at again while an
 * epoch turns, so that no cluster is counted in two.
 */
static __always_inline __u32 olaf_active_now(__u64 now)
{
	volatile struct olaf_active *shared;
	struct olaf_active seen = {};
	__u32 zero = 0, i, held;

	shared = bpf_map_lookup_elem(&olaf_active, &zero);
	if (!shared)
		return 0;
	for (i = 0; i < OLAF_ACTIVE_LOOKS; i++) {
		held = shared->lock;
		seen.epoch_start_ns = shared->epoch_start_ns;
		seen.current_clusters = shared->current_clusters;
		seen.previous_clusters = shared->previous_clusters;
		if (!held && !shared->lock && seen.epoch_start_ns == shared->epoch_start_ns)
			break;
	}
	return olaf_active_clusters(&seen, now, olaf_cfg.activity_window_ns);
}

/* How congested this queue is. Hints, read without locks. Returns N before it saturates. */
static __always_inline __u32 olaf_congestion_now(__u64 now, struct olaf_congestion *here)
{
	struct olaf_ring *ring = olaf_the_ring();
	__u32 active = olaf_active_now(now);
	__u64 head, length = 0;

	if (ring) {
		head = READ_ONCE(ring->head);
		length = READ_ONCE(ring->tail) - head;
	}
	here->active_clusters = active < OLAF_MOST_ACTIVE_CLUSTERS ? active :
								     OLAF_MOST_ACTIVE_CLUSTERS;
	here->queue_capacity = olaf_cfg.queue_capacity;
	/* The head may have moved on between the two looks. */
	here->queue_length = length < here->queue_capacity ? length : here->queue_capacity;
	return active;
}

/* Does the ACK carry a state that is at least as congested as ours? */
static __always_inline int olaf_stamp_stands(const struct olaf_header *message,
					     const struct olaf_congestion *ours)
{
	struct olaf_congestion theirs = {
		.active_clusters = bpf_ntohs(message->active_clusters_be),
		.queue_capacity = bpf_ntohl(message->queue_capacity_be),
		.queue_length = bpf_ntohl(message->queue_length_be),
	};

	return (message->flags_be & bpf_htons(OLAF_FLAG_STAMPED)) &&
	       !olaf_more_congested(ours, &theirs);
}

/* One's complement sum of the words of a message that a stamp may change. */
static __always_inline __u64 olaf_stamp_sum(const struct olaf_header *message)
{
	const __u32 *words = (const __u32 *)message;

	return (__u64)words[offsetof(struct olaf_header, flags_be) / 4] +
	       words[offsetof(struct olaf_header, active_clusters_be) / 4] +
	       words[offsetof(struct olaf_header, queue_capacity_be) / 4] +
	       words[offsetof(struct olaf_header, queue_length_be) / 4];
}

/* Writes the queue's state into the ACK's message and flags. */
static __always_inline void olaf_stamp_write(struct olaf_header *message,
					     const struct olaf_congestion *here, int congested)
{
	message->flags_be &= ~bpf_htons(OLAF_FLAG_CONGESTED);
	message->flags_be |= bpf_htons(OLAF_FLAG_STAMPED);
	if (congested)
		message->flags_be |= bpf_htons(OLAF_FLAG_CONGESTED);
	message->active_clusters_be = bpf_htons(here->active_clusters);
	message->reserved_be = 0;
	message->queue_capacity_be = bpf_htonl(here->queue_capacity);
	message->queue_length_be = bpf_htonl(here->queue_length);
}

/*
 * Where the device summed the whole packet (CHECKSUM_COMPLETE), a changed payload and a
 * corrected checksum cancel out in that sum; without a checksum the store must correct it.
 */
static __always_inline __u64 olaf_ack_store_flags(const struct olaf_ack *ack)
{
	return ack->udp_check ? 0 : BPF_F_RECOMPUTE_CSUM;
}

/* Stamps the ACK, unless it carries a more congested queue's state. */
static __always_inline void olaf_ack_stamp(struct __sk_buff *skb, struct olaf_ack *ack)
{
	struct olaf_header message = ack->message;
	struct olaf_congestion here;
	__u32 active;

	active = olaf_congestion_now(bpf_ktime_get_ns(), &here);
	if (olaf_stamp_stands(&message, &here)) {
		olaf_count_ack(kept);
		return;
	}
	olaf_stamp_write(&message, &here, active > here.queue_capacity);
	/* Memory may be short, and an ACK without a stamp is better than none. */
	if (bpf_skb_store_bytes(skb, ack->l4_offset + sizeof(struct udphdr) + OLAF_STAMP_FIRST,
				(void *)&message + OLAF_STAMP_FIRST,
				OLAF_STAMP_END - OLAF_STAMP_FIRST, olaf_ack_store_flags(ack)))
		return;
	olaf_ack_checksum(skb, ack,
			  olaf_sum_difference(olaf_stamp_sum(&ack->message),
					      olaf_stamp_sum(&message), 4),
			  0);
	ack->message = message;
	olaf_count_ack(stamped);
}

#endif /* OLAF_ACK_STAMP_BPF_H */
