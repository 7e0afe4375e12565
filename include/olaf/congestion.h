/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How congested a queue says it is, and which of two is the more so.
 *
 * What an ACK carries of the queues that it has passed (protocol.md, OLAF paper section 5):
 * a worker sends less the further N is above Qmax. Of several queues on the way the most
 * congested one is the bottleneck, so its state is the one that arrives.
 *
 * Pure: compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_CONGESTION_H
#define OLAF_CONGESTION_H

#include <linux/types.h>

#include "olaf/layout.h"

/* The most active clusters that an ACK can tell of; more are told as these. */
#define OLAF_MOST_ACTIVE_CLUSTERS 65535u

struct olaf_congestion {
	__u32 active_clusters; /* N, at most OLAF_MOST_ACTIVE_CLUSTERS */
	__u32 queue_capacity; /* Qmax; 0 is nobody's: no queue, so no congestion */
	__u32 queue_length; /* Qn */
};
OLAF_LAST(olaf_congestion, 0, 12, active_clusters, queue_capacity, queue_length);

/*
 * Is `ours` the more congested: the larger N / Qmax, then the larger Qn / Qmax? Compared
 * by cross-multiplying, exact in 64 bits. Equal ones: no.
 */
static inline int olaf_more_congested(const struct olaf_congestion *ours,
				      const struct olaf_congestion *theirs)
{
	__u64 our_load = (__u64)ours->active_clusters * theirs->queue_capacity;
	__u64 their_load = (__u64)theirs->active_clusters * ours->queue_capacity;
	__u64 our_fill = (__u64)ours->queue_length * theirs->queue_capacity;
	__u64 their_fill = (__u64)theirs->queue_length * ours->queue_capacity;

	if (!ours->queue_capacity || !theirs->queue_capacity)
		return ours->queue_capacity && !theirs->queue_capacity;
	if (our_load != their_load)
		return our_load > their_load;
	return our_fill > their_fill;
}

#endif /* OLAF_CONGESTION_H */
