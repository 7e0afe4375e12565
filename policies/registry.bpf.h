/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every policy: one line here, one header, one constant in enum olaf_policy.
 *
 *   X(CONSTANT, name, folds)
 *
 * A policy that folds keeps a cluster's update in the cluster's slot, two buffers
 * each; one that doesn't takes its entry by the place in the ring.
 */
#ifndef OLAF_POLICY_REGISTRY_H
#define OLAF_POLICY_REGISTRY_H

#include "policies/aggregate.bpf.h"
#include "policies/fifo.bpf.h"
#include "policies/newest.bpf.h"
#include "policies/olaf.bpf.h"

#define OLAF_POLICY_LIST(X)                     \
	X(OLAF_POLICY_OLAF, olaf, 1)            \
	X(OLAF_POLICY_FIFO, fifo, 0)            \
	X(OLAF_POLICY_AGGREGATE, aggregate, 1)  \
	X(OLAF_POLICY_NEWEST, newest, 1)

/* Does the policy merge updates at all? An unknown one behaves as "olaf". */
OLAF_POLICY int olaf_policy_folds(__u32 policy)
{
#define OLAF_FOLDS(constant, name, folds) \
	if (policy == (constant))         \
		return (folds);
	OLAF_POLICY_LIST(OLAF_FOLDS)
#undef OLAF_FOLDS
	return 1;
}

/* Asks the cluster's policy. */
OLAF_POLICY enum olaf_action olaf_decide(const struct olaf_party *waiting,
					 const struct olaf_party *arriving,
					 const struct olaf_rule *rule)
{
#define OLAF_DECIDE(constant, name, folds)  \
	if (rule->policy == (constant))     \
		return olaf_decide_##name(waiting, arriving, rule);
	OLAF_POLICY_LIST(OLAF_DECIDE)
#undef OLAF_DECIDE
	return olaf_decide_olaf(waiting, arriving, rule);
}

#endif /* OLAF_POLICY_REGISTRY_H */
