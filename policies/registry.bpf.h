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
#define OLAF_FOLDS(constant, name, folds, completes, fate) \
	if (policy == (constant))                          \
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
#define OLAF_DECIDE(constant, name, folds, completes, fate) \
	if (rule->policy == (constant))                     \
		return olaf_decide_##name(waiting, arriving, rule);
	OLAF_POLICY_LIST(OLAF_DECIDE)
#undef OLAF_DECIDE
	return olaf_decide_olaf(waiting, arriving, rule);
}

/* Does any policy ever hold an entry back? If none does, nothing below costs an instruction. */
#define OLAF_GATHERS(constant, name, folds, completes, fate) || OLAF_GATHERS_##completes
#define OLAF_ANY_GATHERS (0 OLAF_POLICY_LIST(OLAF_GATHERS))

/* Is the entry complete with the arrival in it? `waiting`: what it held before, or a count of 0. */
OLAF_POLICY int olaf_completes(const struct olaf_party *waiting,
			       const struct olaf_party *arriving, const struct olaf_rule *rule)
{
#define OLAF_COMPLETES(constant, name, folds, completes, fate) \
	if (rule->policy == (constant))                        \
		return olaf_complete_##completes(waiting, arriving, rule);
	OLAF_POLICY_LIST(OLAF_COMPLETES)
#undef OLAF_COMPLETES
	return 1;
}

/* The state of a buffer that has left. */
OLAF_POLICY enum olaf_buffer_state olaf_fate(__u32 policy)
{
#define OLAF_FATE(constant, name, folds, completes, fate) \
	if (policy == (constant))                         \
		return OLAF_BUFFER_##fate;
	OLAF_POLICY_LIST(OLAF_FATE)
#undef OLAF_FATE
	return OLAF_BUFFER_FREE;
}

#endif /* OLAF_POLICY_REGISTRY_H */
