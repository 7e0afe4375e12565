/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Folding lanes, and writing them into a frame: the inner loops.
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
#define OLAF_LANE_PUT(i) to[i] = from[i];

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
 */
#define OLAF_DEFINE_LANES(NAME, OP, GUARD, MOST)                                           \
	static __always_inline void NAME(__u64 *to, const __u64 *from, const void *end, \
					 __u32 lanes)                                    \
	{                                                                                \
		__u32 done, i, room = MOST;                                              \
                                                                                         \
		(void)end;                                                               \
		for (done = 0; done + OLAF_BLOCK <= room; done += OLAF_BLOCK) {          \
			if (done + OLAF_BLOCK > lanes)                                   \
				break;                                                   \
			GUARD(8 * OLAF_BLOCK)                                            \
			OLAF_LANES_16(OP)                                                \
			to += OLAF_BLOCK;                                                \
			from += OLAF_BLOCK;                                              \
		}                                                                        \
		for (i = 0; i < OLAF_BLOCK - 1; i++) {                                   \
			if (done + i >= lanes)                                           \
				break;                                                   \
			GUARD(8)                                                         \
			OP(0)                                                            \
			to++;                                                            \
			from++;                                                          \
		}                                                                        \
	}

#define OLAF_GUARD_FROM(bytes)                          \
	if ((const void *)from + (bytes) > end)         \
		return;
#define OLAF_GUARD_TO(bytes)                            \
	if ((const void *)to + (bytes) > end)           \
		return;
#define OLAF_GUARD_NONE(bytes)

/* At most OLAF_MOST_LINEAR_LANES from the linear part of a frame, which ends at `end`. */
OLAF_DEFINE_LANES(olaf_lanes_add_frame, OLAF_LANE_ADD, OLAF_GUARD_FROM, olaf_linear_lanes())
/* From a map value. */
OLAF_DEFINE_LANES(olaf_lanes_add, OLAF_LANE_ADD, OLAF_GUARD_NONE, olaf_cfg.max_lanes)
/*
 * From a map value into the linear part of a frame, which ends at `end`, as many at most. The kernel's
 * copying function takes longer for a usual frame: three calls to get there.
 */
OLAF_DEFINE_LANES(olaf_lanes_put, OLAF_LANE_PUT, OLAF_GUARD_TO, olaf_linear_lanes())

/* Sum of the 32-bit halves, for an Internet checksum; can't overflow: 2 x 1,152 halves. */
static __always_inline __u64 olaf_lanes_sum(const __u64 *from, __u32 lanes)
{
	__u32 i, room = olaf_cfg.max_lanes;
	__u64 sum = 0;

	for (i = 0; i < room; i++) {
		if (i >= lanes)
			break;
		sum += (from[i] & 0xffffffff) + (from[i] >> 32);
	}
	return sum;
}

#endif /* OLAF_LANES_BPF_H */
