/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a policy is asked, and what it may answer.
 *
 * A policy is a pure function: no map, no helper, no clock. The same header compiles
 * in the kernel, in unit tests and in simulation. It is asked only when an update of
 * the arrival's (cluster, segment) waits, is open to merging, and has the arrival's
 * shape (lanes, format, checksum lane): otherwise the arrival is a new entry.
 */
#ifndef OLAF_POLICY_DECISION_H
#define OLAF_POLICY_DECISION_H

#include "olaf/queue.h"

#define OLAF_POLICY static inline __attribute__((always_inline))

/* What the queue does with an arrival that found an update of its cluster waiting. */
enum olaf_action {
	OLAF_AGGREGATE = 1, /* add it to the waiting update */
	OLAF_REPLACE = 2, /* it takes the waiting update's place; that one is superseded */
	OLAF_DROP = 3, /* its reward is too low */
	OLAF_SEAL = 4, /* the waiting update is closed; the arrival is a new entry */
};

/* The side of an update that policies see, in host order: the same for both parties. */
struct olaf_party {
	__u32 worker; /* newest folded worker */
	__u32 count; /* updates folded in, at least 1 */
	__s64 reward; /* Q47.16, sum over count updates */
};

/* Aggregate, unless the sum could overflow an element (protocol.md: max_count). */
OLAF_POLICY enum olaf_action olaf_aggregate_or_seal(const struct olaf_party *waiting,
						    const struct olaf_party *arriving,
						    const struct olaf_rule *rule)
{
	/* 64 bits: a hostile count near 2^32 must not wrap to a small sum. */
	__u64 count = (__u64)waiting->count + arriving->count;

	return count > rule->max_count ? OLAF_SEAL : OLAF_AGGREGATE;
}

#endif /* OLAF_POLICY_DECISION_H */
