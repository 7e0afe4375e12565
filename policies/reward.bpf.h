/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Comparing mean rewards without a division: sums and counts are cross-multiplied in
 * 128 bits, by hand, because BPF has no wide multiplication. Exact for every input.
 */
#ifndef OLAF_POLICY_REWARD_H
#define OLAF_POLICY_REWARD_H

#include "policies/decision.bpf.h"

/* A two's-complement 128-bit integer. */
struct olaf_wide {
	__u64 low;
	__u64 high;
};

/* a x b, unsigned. */
OLAF_POLICY struct olaf_wide olaf_wide_multiply(__u64 a, __u64 b)
{
	__u64 low_low = (a & 0xffffffff) * (b & 0xffffffff);
	__u64 low_high = (a & 0xffffffff) * (b >> 32);
	__u64 high_low = (a >> 32) * (b & 0xffffffff);
	__u64 middle = (low_low >> 32) + (low_high & 0xffffffff) + (high_low & 0xffffffff);
	struct olaf_wide product;

	product.low = (low_low & 0xffffffff) | (middle << 32);
	product.high = (a >> 32) * (b >> 32) + (low_high >> 32) + (high_low >> 32) + (middle >> 32);
	return product;
}

/* sum x count for a signed sum: the unsigned product less 2^64 x count where sum < 0. */
OLAF_POLICY struct olaf_wide olaf_wide_scale(__s64 sum, __u32 count)
{
	struct olaf_wide product = olaf_wide_multiply((__u64)sum, count);

	if (sum < 0)
		product.high -= count;
	return product;
}

OLAF_POLICY struct olaf_wide olaf_wide_subtract(struct olaf_wide a, struct olaf_wide b)
{
	struct olaf_wide difference;

	difference.low = a.low - b.low;
	difference.high = a.high - b.high - (a.low < b.low);
	return difference;
}

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
	struct olaf_wide difference =
		olaf_wide_subtract(olaf_wide_scale(arriving->reward, waiting->count),
				   olaf_wide_scale(waiting->reward, arriving->count));
	struct olaf_wide margin = olaf_wide_multiply((__u64)threshold,
						     (__u64)arriving->count * waiting->count);
	int sign = 1;

	if ((__s64)difference.high < 0) {
		struct olaf_wide zero = { 0, 0 };

		difference = olaf_wide_subtract(zero, difference);
		sign = -1;
	}
	if (difference.high < margin.high ||
	    (difference.high == margin.high && difference.low <= margin.low))
		return 0;
	return sign;
}

#endif /* OLAF_POLICY_REWARD_H */
