/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A policy for the test's sake, which does what none of the queue's does: an entry is complete with
 * its second update, takes its turn only then, and is kept when it has left.
 */
#ifndef OLAF_TRIAL_POLICY_H
#define OLAF_TRIAL_POLICY_H

#define OLAF_TRIAL_POLICIES(X) X(OLAF_POLICY_PAIR, pair, 1, with_the_second, KEPT)
#define OLAF_GATHERS_with_the_second 1

#include "policies/decision.bpf.h"

OLAF_POLICY enum olaf_action olaf_decide_pair(const struct olaf_party *waiting,
					      const struct olaf_party *arriving,
					      const struct olaf_rule *rule)
{
	(void)arriving;
	(void)rule;
	return waiting->count < 2 ? OLAF_AGGREGATE : OLAF_SEAL;
}

OLAF_POLICY int olaf_complete_with_the_second(const struct olaf_party *waiting,
					      const struct olaf_party *arriving,
					      const struct olaf_rule *rule)
{
	(void)rule;
	return waiting->count + arriving->count >= 2;
}

#endif /* OLAF_TRIAL_POLICY_H */
