/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a cluster's policy says (policies/): may the arrival be merged, and how?
 */
#ifndef OLAF_SLOT_POLICY_BPF_H
#define OLAF_SLOT_POLICY_BPF_H

#include "policies/registry.bpf.h"

/* The side of an update that policies see. */
static __always_inline struct olaf_party olaf_party_of(const struct olaf_pending *update)
{
	struct olaf_party party = { update->worker, update->count, update->reward };

	return party;
}

/* What the policy says to an arrival that can be merged into the open update `waiting`. */
static __always_inline enum olaf_action olaf_judge(const struct olaf_pending *waiting,
						   const struct olaf_pending *update,
						   const struct olaf_rule *rule)
{
	struct olaf_party there = olaf_party_of(waiting), here = olaf_party_of(update);

	return olaf_decide(&there, &here, rule);
}

#endif /* OLAF_SLOT_POLICY_BPF_H */
