/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs that sum floats: lanes of a frame are OLAF_FORMAT_F32X2.
 *
 * They are added as integers of 64 bits, each value times 2^s and rounded to the nearest, ties to even.
 * So the sum doesn't depend on the order. A float takes 8 bytes of its buffer while its chunk is OPEN;
 * then the lanes become f32x2 again, rounded in the same way. Such a job's frames have half of
 * max_lanes at most.
 *
 * One contribution of max_count may be OLAF_FLOAT_SUM_BITS - float_headroom bits long; else the
 * element is no number. So no sum can overflow, and what is no number doesn't depend on the order.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_FLOATS_H
#define OLAF_FLOATS_H

#include <linux/types.h>

#include "olaf/protocol.h"

#define OLAF_FLOAT_SUM_BITS 61
/* Lanes of a buffer for each of a frame. */
#define OLAF_FLOAT_LANES 2
#define OLAF_DEFAULT_FLOAT_BITS 40
/* 2^-149 is the smallest float32. */
#define OLAF_MOST_FLOAT_BITS 149
/* max_count is 2^16 - 1 at most. */
#define OLAF_MOST_FLOAT_HEADROOM 16

/* Of lanes of that shape (struct olaf_job_setup). */
static inline int olaf_shape_is_floats(__u32 shape)
{
	return (shape & OLAF_FLAG_FORMAT_MASK) == OLAF_FORMAT_F32X2 << OLAF_FLAG_FORMAT_SHIFT;
}

#endif /* OLAF_FLOATS_H */
