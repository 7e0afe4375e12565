/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contributions of floats (olaf/floats.h): while a chunk is OPEN its buffer has a 64-bit integer for
 * each float, and then the floats themselves, in place (table.bpf.h).
 *
 * A float is a sign, an exponent and a mantissa. There is no floating point here, so it is shifted to
 * where its job's unit, 2^-s, is the lowest bit, and what is shifted out is rounded.
 */
#ifndef OLAF_ROUND_FLOATS_BPF_H
#define OLAF_ROUND_FLOATS_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/rounds/headers.bpf.h"
#include "bpf/rounds/message.bpf.h"

/* Of an element that is no number: whatever comes, it stays. No sum gets there. */
#define OLAF_FLOAT_NONE (1ULL << 63)
/* What such an element is in a result. */
#define OLAF_FLOAT_QUIET_NAN 0x7fc00000
#define OLAF_FLOAT_INFINITE 255 /* exponent of what isn't finite */
/* Bits that a mantissa is shifted up by, before it is shifted down and rounded: so there is one way. */
#define OLAF_FLOAT_RAISED 39
/* Exponent of a float whose mantissa, raised, would be right without being shifted down, with s = 0. */
#define OLAF_FLOAT_WHOLE (150 + OLAF_FLOAT_RAISED)

/* Floats that one turn of a loop takes: those of whole lanes. */
#define OLAF_FLOAT_TURN 8

/* Adding a frame's floats. */
struct olaf_float_adding {
	__u64 *to;
	const __u32 *from;
	__u64 kept; /* 0: they are the first; else all ones */
	__u64 limit; /* largest magnitude that this contribution may have */
	__u64 whole; /* exponent of a float that needn't be shifted down */
	__u64 most; /* exponents beyond which a float is too large, */
	__s64 least; /* or nothing */
	__u64 overflow;
	__u64 not_finite;
};

/* Shifts down by 1 ... 63 bits, to the nearest; of two to the even one. */
static __always_inline __u64 olaf_float_shift(__u64 value, __u64 by)
{
	return (value + (1ULL << (by - 1)) - 1 + (value >> by & 1)) >> by;
}

/* The float in the job's unit, without its sign, or OLAF_FLOAT_NONE. */
static __always_inline __u64 olaf_float_read(struct olaf_float_adding *adding, __u32 bits)
{
	__u64 exponent = bits >> 23 & 0xff, value;
	/* Numbers near 0 have no bit before the point, and the exponent of the next ones. */
	__u64 is_normal = (exponent + 255) >> 8;
	__u64 mantissa = (bits & 0x7fffff) | is_normal << 23;

	exponent += 1 - is_normal;
	if ((__s64)exponent < adding->least)
		return 0;
	if (exponent == OLAF_FLOAT_INFINITE) {
		adding->not_finite++;
		return OLAF_FLOAT_NONE;
	}
	if (exponent <= adding->most) {
		value = olaf_float_shift(mantissa << OLAF_FLOAT_RAISED, adding->whole - exponent);
		if (value <= adding->limit)
			return value;
	}
	adding->overflow++;
	return OLAF_FLOAT_NONE;
}

/* Adds a float to the integer, or is the first. */
static __always_inline void olaf_float_add(struct olaf_float_adding *adding, __u64 *to, __u32 bits)
{
	__u64 value = olaf_float_read(adding, bits), sum = *to & adding->kept;
	__u64 sign = -(__u64)(bits >> 31);

	if (value == OLAF_FLOAT_NONE || sum == OLAF_FLOAT_NONE)
		*to = OLAF_FLOAT_NONE;
	else
		*to = sum + ((value ^ sign) - sign);
}

/* Floats from the turn's first one on. The slack of both areas has room for a last turn's others. */
static long olaf_float_add_turn(__u32 turn, struct olaf_float_adding *adding)
{
	__u32 first = olaf_clamp(OLAF_FLOAT_TURN * turn, 0, olaf_cfg.max_lanes), i;
	struct olaf_float_adding at = *adding;

	at.to += first;
	at.from += first;
#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_FLOAT_TURN; i++)
		olaf_float_add(&at, &at.to[i], at.from[i]);
	adding->overflow = at.overflow;
	adding->not_finite = at.not_finite;
	return 0;
}

/* Turns for so many lanes of a frame. */
static __always_inline __u32 olaf_float_turns(__u32 lanes)
{
	return (2 * lanes + OLAF_FLOAT_TURN - 1) / OLAF_FLOAT_TURN;
}

/*
 * Adds the frame's floats, or they are the first. Returns 0, or -1: they can't be read. A global function:
 * verified once.
 */
__noinline int olaf_float_take(struct xdp_md *ctx, __u32 buffer_index, __u64 kept)
{
	struct olaf_round_message *m = olaf_round_message_here();
	__u64 *to = olaf_round_lanes_at(buffer_index);
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_float_adding adding = { .kept = kept };
	struct olaf_job *job;
	__u32 count, i;

	if (!to || !m || !a || !staged)
		return -1;
	job = olaf_job_at(m->job);
	if (!job)
		return -1;
	count = olaf_clamp(a->update.lanes, 1, olaf_cfg.max_lanes / OLAF_FLOAT_LANES);
	if (bpf_xdp_load_bytes(ctx, a->update.header_bytes + sizeof(struct olaf_header),
			       staged->lanes, 8 * count))
		return -1;
	/* What the last turn finds behind them is nothing. */
	for (i = 0; i < OLAF_FLOAT_TURN / 2; i++)
		staged->lanes[count + i] = 0;
	adding.to = to;
	adding.from = (const __u32 *)staged->lanes;
	adding.limit = (__u64)m->count << (OLAF_FLOAT_SUM_BITS - job->setup.float_headroom);
	adding.whole = OLAF_FLOAT_WHOLE - job->setup.float_bits;
	adding.least = (__s64)adding.whole - 63;
	adding.most = adding.whole - 1;
	bpf_loop(olaf_float_turns(count), olaf_float_add_turn, &adding, 0);
	if (adding.overflow)
		olaf_count_job_by(m->job, float_overflow, adding.overflow);
	if (adding.not_finite)
		olaf_count_job_by(m->job, float_not_finite, adding.not_finite);
	return 0;
}

static __always_inline int olaf_round_add(struct xdp_md *ctx, __u32 buffer_index)
{
	return olaf_float_take(ctx, buffer_index, ~0ULL);
}

static __always_inline int olaf_round_first(struct xdp_md *ctx, const struct olaf_arrival *a,
					    __u32 buffer_index)
{
	(void)a;
	return olaf_float_take(ctx, buffer_index, 0);
}

/* Making floats of integers again. */
struct olaf_float_closing {
	__u64 *lanes;
	__u64 bits; /* s */
};

/* The integer as a float. */
static __always_inline __u32 olaf_float_write(__u64 sum, __u64 bits)
{
	__u64 sign = sum >> 63, value = (sum ^ -sign) + sign, seen = value, highest;

	if (sum == OLAF_FLOAT_NONE)
		return OLAF_FLOAT_QUIET_NAN;
	if (!sum)
		return 0;
	seen |= seen >> 1;
	seen |= seen >> 2;
	seen |= seen >> 4;
	seen |= seen >> 8;
	seen |= seen >> 16;
	seen |= seen >> 32;
	highest = olaf_bits(seen) - 1;
	/* Near 0, where s is so large that nothing is to be rounded. */
	if (highest + 127 <= bits)
		return sign << 31 | value << (OLAF_MOST_FLOAT_BITS - bits);
	/* The mantissa's first bit adds one to the exponent, and what is rounded up to 2^24 another one. */
	value = olaf_float_shift(value << (62 - highest), 39);
	return sign << 31 | (((highest + 126 - bits) << 23) + value);
}

/* Lanes from the turn's first one on: behind each are the integers that it is made of. */
static long olaf_float_close_turn(__u32 turn, struct olaf_float_closing *closing)
{
	__u32 first = olaf_clamp(OLAF_FLOAT_TURN / 2 * turn, 0, olaf_cfg.max_lanes / 2), i;
	__u64 *from = closing->lanes + 2 * first, *to = closing->lanes + first;
	__u64 bits = closing->bits;

#pragma clang loop unroll(full)
	for (i = 0; i < OLAF_FLOAT_TURN / 2; i++)
		to[i] = olaf_float_write(from[2 * i], bits) |
			(__u64)olaf_float_write(from[2 * i + 1], bits) << 32;
	return 0;
}

/* The buffer's integers become floats. Under its slot's lock. A global function, as above. */
__noinline int olaf_float_close(__u32 buffer_index, __u32 lanes, __u32 bits)
{
	struct olaf_float_closing closing = { .lanes = olaf_round_lanes_at(buffer_index), .bits = bits };

	if (!closing.lanes)
		return -1;
	bpf_loop(olaf_float_turns(olaf_clamp(lanes, 1, olaf_cfg.max_lanes / OLAF_FLOAT_LANES)),
		 olaf_float_close_turn, &closing, 0);
	return 0;
}

static __always_inline void olaf_round_close(const struct olaf_job *job, __u32 buffer_index)
{
	olaf_float_close(buffer_index, job->setup.lanes, job->setup.float_bits);
}

#endif /* OLAF_ROUND_FLOATS_BPF_H */
