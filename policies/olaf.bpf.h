/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Policy "olaf": Algorithm 1 of the OLAF paper (section 4), with its reward filter (section 3).
 *
 *   waiting entry is          mean reward of the arrival      action
 *   ------------------------  ------------------------------  ---------------------------
 *   one update of the same    (not looked at)                 REPLACE: newer subsumes older
 *     worker
 *   anything else             filter off                      AGGREGATE, or SEAL at max_count
 *   anything else             within the threshold            AGGREGATE, or SEAL at max_count
 *   anything else             higher by more than it          REPLACE: takes the entry over
 *   anything else             lower by more than it           DROP
 */
#ifndef OLAF_POLICY_OLAF_H
#define OLAF_POLICY_OLAF_H

#include "policies/decision.bpf.h"
#include "policies/reward.bpf.h"

OLAF_POLICY enum olaf_action olaf_decide_olaf(const struct olaf_party *waiting,
					      const struct olaf_party *arriving,
					      const struct olaf_rule *rule)
{
	int order;

	if (waiting->count == 1 && waiting->worker == arriving->worker)
		return OLAF_REPLACE;
	if (rule->reward_threshold < 0)
		return olaf_aggregate_or_seal(waiting, arriving, rule);
	order = olaf_compare_rewards(waiting, arriving, rule->reward_threshold);
	if (order > 0)
		return OLAF_REPLACE;
	if (order < 0)
		return OLAF_DROP;
	return olaf_aggregate_or_seal(waiting, arriving, rule);
}

#endif /* OLAF_POLICY_OLAF_H */
