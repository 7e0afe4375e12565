/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Comparing mean rewards without a division: sums and counts are cross-multiplied in
 * 128 bits (olaf/u128.h). Exact for every input.
 */
#ifndef OLAF_POLICY_REWARD_H
#define OLAF_POLICY_REWARD_H

#include "olaf/u128.h"
#include "policies/decision.bpf.h"

/*
 * Compares the arrival's mean reward with the waiting update's.
 * Returns 0 when they differ by at most threshold (Q47.16, not negative), 1 when the
 * arrival's is higher, -1 when it is lower.
 *
 *   |r_a / c_a - r_w / c_w| <= t   <=>   |r_a x c_w - r_w x c_a| <= t x c_a x c_w
 */
OLAF_POLICY int olaf_compare_rewards(const struct olaf_party *waiting,
				     const struct olaf_party *arriving, __s64 threshold)
{
	struct olaf_u128 difference =
		olaf_u128_subtract(olaf_u128_scale(arriving->reward, waiting->count),
				   olaf_u128_scale(waiting->reward, arriving->count));
	struct olaf_u128 margin = olaf_u128_multiply((__u64)threshold,
						     (__u64)arriving->count * waiting->count);
	int sign = 1;

	if ((__s64)difference.high < 0) {
		struct olaf_u128 zero = { 0, 0 };

		difference = olaf_u128_subtract(zero, difference);
		sign = -1;
	}
	if (difference.high < margin.high ||
	    (difference.high == margin.high && difference.low <= margin.low))
		return 0;
	return sign;
}

#endif /* OLAF_POLICY_REWARD_H */
