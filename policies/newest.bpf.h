/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Policy "newest": the newest update of a cluster always replaces the waiting one.
 *
 *   waiting entry is          action
 *   ------------------------  ---------------------------
 *   anything                  REPLACE
 */
#ifndef OLAF_POLICY_NEWEST_H
#define OLAF_POLICY_NEWEST_H

#include "policies/decision.bpf.h"

OLAF_POLICY enum olaf_action olaf_decide_newest(const struct olaf_party *waiting,
						const struct olaf_party *arriving,
						const struct olaf_rule *rule)
{
	(void)waiting;
	(void)arriving;
	(void)rule;
	return OLAF_REPLACE;
}

#endif /* OLAF_POLICY_NEWEST_H */
