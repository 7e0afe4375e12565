/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arithmetic of the meter: what a departure does to a sawtooth (olaf/aom.h; paper,
 * section 6). No map, no helper, no clock: the same functions run in unit tests, against
 * 128-bit integers.
 *
 * Ages are below 2^63, times between departures below 2^55; no sum overflows then.
 */
#ifndef OLAF_SAWTOOTH_BPF_H
#define OLAF_SAWTOOTH_BPF_H

#include "olaf/aom.h"

#define OLAF_PURE static inline __attribute__((always_inline))

/* Adds a x b. Both are below 4.3 s nearly always. */
OLAF_PURE void olaf_u128_add_product(struct olaf_u128 *sum, __u64 a, __u64 b)
{
	struct olaf_u128 product;

	if (!((a | b) >> 32)) {
		olaf_u128_add(sum, a * b);
		return;
	}
	product = olaf_u128_multiply(a, b);
	olaf_u128_add(sum, product.low);
	sum->high += product.high;
}

#define OLAF_TWICE(x) x, x
#define OLAF_4_TIMES(x) OLAF_TWICE(x), OLAF_TWICE(x)
#define OLAF_8_TIMES(x) OLAF_4_TIMES(x), OLAF_4_TIMES(x)
#define OLAF_16_TIMES(x) OLAF_8_TIMES(x), OLAF_8_TIMES(x)
#define OLAF_64_TIMES(x) OLAF_16_TIMES(x), OLAF_16_TIMES(x), OLAF_16_TIMES(x), OLAF_16_TIMES(x)

/* log2 of a byte: BPF has no instruction for it, and ages' low bits defeat branches. */
static const __u8 olaf_log2[256] = {
	OLAF_TWICE(0), OLAF_TWICE(1), OLAF_4_TIMES(2), OLAF_8_TIMES(3), OLAF_16_TIMES(4),
	OLAF_16_TIMES(5), OLAF_16_TIMES(5), OLAF_64_TIMES(6), OLAF_64_TIMES(7), OLAF_64_TIMES(7),
};

/* The bucket of a value in a histogram of log2. */
OLAF_PURE __u32 olaf_bucket(__u64 value, __u32 buckets)
{
	__u32 bucket = 0;

	if (value >> 32) {
		bucket = 32;
		value >>= 32;
	}
	if (value >> 16) {
		bucket += 16;
		value >>= 16;
	}
	if (value >> 8) {
		bucket += 8;
		value >>= 8;
	}
	bucket += olaf_log2[value & 0xff];
	return bucket < buckets ? bucket : buckets - 1;
}

/* The first departure, at `now`, of an update of moment `newest` <= now: measuring starts. */
OLAF_PURE void olaf_sawtooth_start(struct olaf_sawtooth *sawtooth, __u64 now, __s64 newest)
{
	sawtooth->newest_ns = newest;
	sawtooth->last_age_ns = now - (__u64)newest;
}

/*
 * A further one, `grown` ns after the last. The age grew from b - grown to b: twice that
 * area is b^2 - (b - grown)^2. A stale update doesn't make it fall. *highest: of this second.
 */
OLAF_PURE void olaf_sawtooth_depart(struct olaf_sawtooth *sawtooth, __u64 now, __u64 grown,
				    __s64 newest, __u64 *highest)
{
	__u64 b = now - (__u64)sawtooth->newest_ns;

	olaf_u128_add_product(&sawtooth->twice_area, grown, b + b - grown);
	sawtooth->last_age_ns = now - (__u64)newest;
	if (newest <= sawtooth->newest_ns)
		return;
	sawtooth->newest_ns = newest;
	sawtooth->peaks++;
	olaf_u128_add(&sawtooth->peak_sum, b);
	if (*highest >= b)
		return;
	*highest = b;
	if (sawtooth->highest_peak_ns < b)
		sawtooth->highest_peak_ns = b;
}

/* Is the departure at `now` the first one of a second, and not the first of all? */
OLAF_PURE int olaf_age_turns(const struct olaf_aom *aom, __u64 now)
{
	return now > aom->last_ns && aom->ended != aom->forgotten &&
	       now >> OLAF_AGE_SECOND_SHIFT != aom->last_ns >> OLAF_AGE_SECOND_SHIFT;
}

/*
 * Before that one: nothing departed in the seconds since the last, so what they say is older. The
 * first one of a mark's time leaves where the meter stood before.
 */
OLAF_PURE void olaf_age_turn(struct olaf_aom *aom, __u64 now)
{
	__u64 last = aom->last_ns >> OLAF_AGE_SECOND_SHIFT;
	__u64 second = now >> OLAF_AGE_SECOND_SHIFT;
	struct olaf_age_mark *mark;
	__u32 i;

	for (i = 0; i < OLAF_AGE_SECONDS && last < second; i++) {
		last++;
		aom->seconds[last % OLAF_AGE_SECONDS].arrival_ns = 0;
		aom->seconds[last % OLAF_AGE_SECONDS].generated_ns = 0;
	}
	if (now >> OLAF_AGE_MARK_SHIFT == aom->last_ns >> OLAF_AGE_MARK_SHIFT)
		return;
	mark = &aom->marks[(now >> OLAF_AGE_MARK_SHIFT) % OLAF_AGE_MARKS];
	mark->from_ns = aom->last_ns;
	mark->to_ns = now;
	mark->newest_arrival_ns = aom->arrival.newest_ns;
	mark->newest_generated_ns = aom->generated.newest_ns;
	mark->twice_arrival = aom->arrival.twice_area;
	mark->twice_generated = aom->generated.twice_area;
}

/*
 * Forgets all but that it has departed so often: `begun` and `ended` are what readers go by.
 * Eight bytes at a time: a block this large is beyond what BPF clears.
 */
OLAF_PURE void olaf_age_forget(struct olaf_aom *aom)
{
	volatile __u64 *word = &aom->first_ns;
	__u32 i;

	for (i = 0; i < (sizeof(*aom) - 2 * sizeof(__u64)) / sizeof(__u64); i++)
		word[i] = 0;
	aom->forgotten = aom->ended;
}

/* What an update carries that the meter wants. */
struct olaf_metered {
	__u64 first_arrived_ns; /* monotonic, of the first update folded in */
	__u64 arrived_ns; /* monotonic, of the newest */
	__u64 generated_ns; /* CLOCK_TAI, from the network: anything */
	__u32 count;
	__u32 model_version;
};

OLAF_PURE void olaf_version_row_end(struct olaf_aom *aom)
{
	aom->version_row_sum = 0;
	aom->version_row_max = 0;
	aom->version_row_rises = 0;
}

/*
 * Versions wrap: `version` is newer than the newest if it is less than half the circle ahead. A server that
 * began anew counts from a lower one. Late updates are behind as well, but before they have risen so often
 * comes one that isn't: only then do their lags count.
 */
OLAF_PURE void olaf_meter_version(struct olaf_aom *aom, __u32 version, __u32 first)
{
	if (first || (__s32)(version - aom->version_newest) >= 0) {
		if (!first && aom->version_row_sum) {
			olaf_u128_add(&aom->version_lag_sum, aom->version_row_sum);
			if (aom->version_lag_max < aom->version_row_max)
				aom->version_lag_max = aom->version_row_max;
		}
		olaf_version_row_end(aom);
		aom->version_newest = version;
		aom->version_lag = 0;
		return;
	}
	aom->version_lag = aom->version_newest - version;
	if (!aom->version_row_sum || (__s32)(version - aom->version_row_newest) > 0) {
		aom->version_row_newest = version;
		aom->version_row_rises++;
	}
	aom->version_row_sum += aom->version_lag;
	if (aom->version_row_max < aom->version_lag)
		aom->version_row_max = aom->version_lag;
	if (aom->version_row_rises < OLAF_VERSION_RUN)
		return;
	olaf_version_row_end(aom);
	aom->version_newest = version;
	aom->version_lag = 0;
}

/*
 * A departure at `now`, when CLOCK_TAI was tai_offset_ns ahead. CPUs read their clocks
 * before they get here, so `now` may lie a little before the last departure or the newest
 * arrival: it is taken to be at that moment. The caller raises `begun` and `ended`, and calls
 * olaf_age_turn() first where olaf_age_turns().
 */
OLAF_PURE void olaf_meter(struct olaf_aom *aom, const struct olaf_metered *update, __u64 now,
			  __s64 tai_offset_ns)
{
	__u32 first = aom->ended == aom->forgotten;
	__s64 arrived = update->arrived_ns, generated;
	struct olaf_age_peaks *peaks;
	__u64 wait, tai;

	if (!first && now < aom->last_ns)
		now = aom->last_ns;
	if (arrived > (__s64)now)
		arrived = now;
	tai = now + tai_offset_ns;
	if (update->generated_ns > tai) {
		aom->from_future++;
		generated = now;
	} else {
		generated = update->generated_ns - (__u64)tai_offset_ns;
	}
	if (first) {
		aom->first_ns = now;
		olaf_sawtooth_start(&aom->arrival, now, arrived);
		olaf_sawtooth_start(&aom->generated, now, generated);
	} else {
		peaks = &aom->seconds[(now >> OLAF_AGE_SECOND_SHIFT) % OLAF_AGE_SECONDS];
		olaf_sawtooth_depart(&aom->arrival, now, now - aom->last_ns, arrived,
				     &peaks->arrival_ns);
		olaf_sawtooth_depart(&aom->generated, now, now - aom->last_ns, generated,
				     &peaks->generated_ns);
	}
	aom->last_ns = now;
	wait = now > update->first_arrived_ns ? now - update->first_arrived_ns : 0;
	olaf_u128_add(&aom->wait_sum, wait);
	if (aom->wait_max_ns < wait)
		aom->wait_max_ns = wait;
	aom->updates += update->count;
	olaf_meter_version(aom, update->model_version, first);
	olaf_u128_add(&aom->arrival_age_sum, aom->arrival.last_age_ns);
	olaf_u128_add(&aom->generated_age_sum, aom->generated.last_age_ns);
	aom->age_by_arrival[olaf_bucket(aom->arrival.last_age_ns, OLAF_AGE_BUCKETS)]++;
	aom->age_by_generated[olaf_bucket(aom->generated.last_age_ns, OLAF_AGE_BUCKETS)]++;
	aom->folds[olaf_bucket(update->count, OLAF_FOLD_BUCKETS)]++;
}

#endif /* OLAF_SAWTOOTH_BPF_H */
