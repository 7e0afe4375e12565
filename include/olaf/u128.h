/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 128-bit integers by hand: BPF multiplies 64 bits to 64, and a map's value must look the same to
 * every compiler. Unsigned, or two's complement where a function says signed.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_U128_H
#define OLAF_U128_H

#include "olaf/protocol.h"

/* high x 2^64 + low. */
struct olaf_u128 {
	__u64 low;
	__u64 high;
};
OLAF_LAST(olaf_u128, 0, 16, low, high);

#define OLAF_U128 static inline __attribute__((always_inline))

OLAF_U128 void olaf_u128_add(struct olaf_u128 *sum, __u64 value)
{
	sum->low += value;
	if (sum->low < value)
		sum->high++;
}

/* a - b mod 2^128. */
OLAF_U128 struct olaf_u128 olaf_u128_subtract(struct olaf_u128 a, struct olaf_u128 b)
{
	struct olaf_u128 difference;

	difference.low = a.low - b.low;
	difference.high = a.high - b.high - (a.low < b.low);
	return difference;
}

/* a x b, by their halves. */
OLAF_U128 struct olaf_u128 olaf_u128_multiply(__u64 a, __u64 b)
{
	__u64 a_low = (__u32)a, a_high = a >> 32, b_low = (__u32)b, b_high = b >> 32;
	__u64 low = a_low * b_low;
	__u64 middle = a_high * b_low + (low >> 32); /* no carry: (2^32 - 1)^2 + 2^32 - 1 < 2^64 */
	__u64 other = a_low * b_high + (__u32)middle;
	struct olaf_u128 product;

	product.low = (other << 32) | (__u32)low;
	product.high = a_high * b_high + (middle >> 32) + (other >> 32);
	return product;
}

/* a x b for a signed a: the unsigned product less 2^64 x b where a < 0. */
OLAF_U128 struct olaf_u128 olaf_u128_scale(__s64 a, __u32 b)
{
	struct olaf_u128 product = olaf_u128_multiply((__u64)a, b);

	if (a < 0)
		product.high -= b;
	return product;
}

#endif /* OLAF_U128_H */
