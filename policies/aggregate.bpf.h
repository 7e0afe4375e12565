/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Policy "aggregate": always fold. No replacing, no reward filter: nothing that
 * arrives is ever superseded, so sums are exact over all updates.
 *
 *   waiting entry is          action
 *   ------------------------  ---------------------------
 *   count below max_count     AGGREGATE
 *   at max_count              SEAL
 */
#ifndef OLAF_POLICY_AGGREGATE_H
#define OLAF_POLICY_AGGREGATE_H

#include "policies/decision.bpf.h"

OLAF_POLICY enum olaf_action olaf_decide_aggregate(const struct olaf_party *waiting,
						   const struct olaf_party *arriving,
						   const struct olaf_rule *rule)
{
	return olaf_aggregate_or_seal(waiting, arriving, rule);
}

#endif /* OLAF_POLICY_AGGREGATE_H */
