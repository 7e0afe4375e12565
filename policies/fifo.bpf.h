/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Policy "fifo": the baseline. Every update is its own entry; tail drop at Qmax.
 *
 *   waiting entry is          action
 *   ------------------------  ---------------------------
 *   anything                  SEAL: never merged
 *
 * It does not fold, so its entries come with the place in the ring, not with the
 * cluster (registry.bpf.h), and as many of a cluster wait as the ring has room for.
 */
#ifndef OLAF_POLICY_FIFO_H
#define OLAF_POLICY_FIFO_H

#include "policies/decision.bpf.h"

OLAF_POLICY enum olaf_action olaf_decide_fifo(const struct olaf_party *waiting,
					      const struct olaf_party *arriving,
					      const struct olaf_rule *rule)
{
	(void)waiting;
	(void)arriving;
	(void)rule;
	return OLAF_SEAL;
}

#endif /* OLAF_POLICY_FIFO_H */
