/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who decides for a cluster. A new policy is a header here, its include below, and its
 * line in olaf/policies.h.
 */
#ifndef OLAF_POLICY_REGISTRY_H
#define OLAF_POLICY_REGISTRY_H

#include "policies/aggregate.bpf.h"
#include "policies/fifo.bpf.h"
#include "policies/newest.bpf.h"
#include "policies/olaf.bpf.h"

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
#define OLAF_DECIDE(constant, name, folds) \
	if (rule->policy == (constant))    \
		return olaf_decide_##name(waiting, arriving, rule);
	OLAF_POLICY_LIST(OLAF_DECIDE)
#undef OLAF_DECIDE
	return olaf_decide_olaf(waiting, arriving, rule);
}

#endif /* OLAF_POLICY_REGISTRY_H */
