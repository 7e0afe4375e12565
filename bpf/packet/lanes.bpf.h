/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Folding lanes, summing them for an Internet checksum, writing them into a frame: the inner loops.
 *
 * One 64-bit add folds a whole lane of any integer format (protocol.md: linear
 * packing). Blocks of 16 are unrolled, with one bounds check a block; what is left is
 * done lane by lane.
 *
 * The verifier walks every round once: a pointer moves by a constant, and the number
 * of rounds is bounded by max_lanes, a constant of the configuration (Linux 6.1 can't
 * tell from a comparison with `lanes`, a range). The last, partial block stays within
 * the slack of an entry (OLAF_ENTRY_BYTES).
 */
#ifndef OLAF_LANES_BPF_H
#define OLAF_LANES_BPF_H

#include "bpf/config.bpf.h"

#define OLAF_BLOCK 16 /* lanes a round */

#define OLAF_LANES_16(op)                                                   \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7)                     \
	op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15)

#define OLAF_LANE_ADD(i) to[i] += from[i];
#define OLAF_LANE_SUB(i) to[i] -= from[i];
#define OLAF_LANE_PUT(i) to[i] = from[i];
/*
 * Sums of 32-bit halves cost two additions and a shift a lane: `high` is the sum of the high halves, and
 * `total`, mod 2^64, less those is the sum of the low ones. Every four lanes the sums must be in registers:
 * the compiler would put the additions off to the end of a block, and run out of registers. An operation
 * that sums nothing doesn't demand that, for it would take two registers from the loop.
 */
#define OLAF_LANE_SUM_UP(i, lane)                                        \
	total += lane;                                                   \
	high += lane >> 32;                                              \
	if ((i) % 4 == 3)                                                \
		asm volatile("" : "+r"(total), "+r"(high));
#define OLAF_LANE_SUM(i)                    \
	{                                   \
		__u64 lane_ = from[i];      \
		OLAF_LANE_SUM_UP(i, lane_)  \
	}
#define OLAF_LANE_ADD_SUM(i)                \
	{                                   \
		__u64 lane_ = from[i];      \
		to[i] += lane_;             \
		OLAF_LANE_SUM_UP(i, lane_)  \
	}

/*
 * Lanes that are added straight from a frame. More don't lie in one piece, as a page has no room
 * for them, or are copied into one first; so the verifier walks no more rounds than these for each
 * kind of header.
 */
#define OLAF_MOST_LINEAR_LANES 512

static __always_inline __u32 olaf_linear_lanes(void)
{
	return olaf_cfg.max_lanes < OLAF_MOST_LINEAR_LANES ? olaf_cfg.max_lanes :
							     OLAF_MOST_LINEAR_LANES;
}

/*
 * Defines NAME(to, from, end, lanes): does OP with `lanes` lanes, at most MOST. GUARD(bytes)
 * leaves the function when so many bytes in the frame aren't there; lanes in a frame need
 * it for the verifier, lanes in a map value don't.
 *
 * Where OP sums, NAME returns the sum of the 32-bit halves of `from`, for an Internet checksum. It can't
 * overflow: 2 x 1,152 halves.
 */
#define OLAF_DEFINE_LANES(NAME, OP, GUARD, MOST)                                          \
	static __always_inline __u64 NAME(__u64 *to, const __u64 *from, const void *end, \
					  __u32 lanes)                                    \
	{                                                                                 \
		__u32 done, i, room = MOST;                                               \
		__u64 total = 0, high = 0;                                                \
                                                                                          \
		(void)to;                                                                 \
		(void)end;                                                                \
		for (done = 0; done + OLAF_BLOCK <= room; done += OLAF_BLOCK) {           \
			if (done + OLAF_BLOCK > lanes)                                    \
				break;                                                    \
			GUARD(8 * OLAF_BLOCK)                                             \
			OLAF_LANES_16(OP)                                                 \
			to += OLAF_BLOCK;                                                 \
			from += OLAF_BLOCK;                                               \
		}                                                                         \
		for (i = 0; i < OLAF_BLOCK - 1; i++) {                                    \
			if (done + i >= lanes)                                            \
				break;                                                    \
			GUARD(8)                                                          \
			OP(0)                                                             \
			to++;                                                             \
			from++;                                                           \
			olaf_keep(from);                                                  \
		}                                                                         \
		return total - (high << 32) + high;                                       \
	}

#define OLAF_GUARD_FROM(bytes)                          \
	if ((const void *)from + (bytes) > end)         \
		return 0;
#define OLAF_GUARD_TO(bytes)                            \
	if ((const void *)to + (bytes) > end)           \
		return 0;
#define OLAF_GUARD_NONE(bytes)

/* At most OLAF_MOST_LINEAR_LANES from the linear part of a frame, which ends at `end`. */
OLAF_DEFINE_LANES(olaf_lanes_add_frame, OLAF_LANE_ADD, OLAF_GUARD_FROM, olaf_linear_lanes())
OLAF_DEFINE_LANES(olaf_lanes_add_sum_frame, OLAF_LANE_ADD_SUM, OLAF_GUARD_FROM, olaf_linear_lanes())
OLAF_DEFINE_LANES(olaf_lanes_sum_frame, OLAF_LANE_SUM, OLAF_GUARD_FROM, olaf_linear_lanes())
/* From a map value. */
OLAF_DEFINE_LANES(olaf_lanes_add, OLAF_LANE_ADD, OLAF_GUARD_NONE, olaf_cfg.max_lanes)
OLAF_DEFINE_LANES(olaf_lanes_sub, OLAF_LANE_SUB, OLAF_GUARD_NONE, olaf_cfg.max_lanes)
OLAF_DEFINE_LANES(olaf_lanes_add_sum, OLAF_LANE_ADD_SUM, OLAF_GUARD_NONE, olaf_cfg.max_lanes)
OLAF_DEFINE_LANES(olaf_lanes_sum_map, OLAF_LANE_SUM, OLAF_GUARD_NONE, olaf_cfg.max_lanes)
/*
 * From a map value into the linear part of a frame, which ends at `end`, as many at most. The kernel's
 * copying function takes longer for a usual frame: three calls to get there.
 */
OLAF_DEFINE_LANES(olaf_lanes_put, OLAF_LANE_PUT, OLAF_GUARD_TO, olaf_linear_lanes())

/* Sum of the 32-bit halves of lanes in a map value, for an Internet checksum. */
static __always_inline __u64 olaf_lanes_sum(const __u64 *from, __u32 lanes)
{
	return olaf_lanes_sum_map(NULL, from, NULL, lanes);
}

#endif /* OLAF_LANES_BPF_H */
