/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * `--window auto`: the smallest window that gives the full throughput.
 *
 * By trial. A trial counts the ACKs of whole rounds (a round is as many ACKs as the
 * window is large) and their time, from the first flight that departed at its size. A
 * larger window is better if it pays: to be p % larger, it must raise the throughput by
 * p / OLAF_PILOT_PRICE %. So the size climbs while throughput grows with it, and goes down
 * as long as that costs nothing: what more would only queue before the bottleneck.
 *
 *   trial of      | throughput                   | then
 *   --------------|------------------------------|----------------------------------
 *   base          |                              | rested? try the next other size
 *   a larger one  | pays                         | it is the base; a longer step up
 *                 | doesn't                      | base again, then a step down
 *   a smaller one | the larger base doesn't pay  | it is the base; a longer step down
 *                 | does                         | base again, then a shorter step up
 *
 * The step is base >> shift: doubling at first, an eighth at last. A larger size on trial
 * costs a little queue, a smaller one throughput, half of it from 2 to 1: where that only
 * lost, the turn of a smaller size is passed over once, then three times. While nothing waits to
 * leave, the window isn't what limits: nothing is learnt, and the size stays.
 *
 * Not by delay (Vegas), which needs the least round-trip time: that of a process that
 * must wake up differs from its usual one by more than any queue (docs/design.md).
 *
 * Pure: no map, no helper, no clock; compiled into unit tests too.
 */
#ifndef OLAF_WINDOW_PILOT_BPF_H
#define OLAF_WINDOW_PILOT_BPF_H

#include "olaf/window.h"

#define OLAF_PILOT_FIRST 4 /* size before anything is known */
#define OLAF_PILOT_PRICE 12
#define OLAF_PILOT_DOUBT 32 /* no growth for less than 1/32 more, which may be chance */
#define OLAF_PILOT_LEAST_ACKS 16 /* a trial's, at least */
#define OLAF_PILOT_LEAST_NS 20000000ULL
#define OLAF_PILOT_STARVED 8 /* 1 ACK in so many found nothing waiting: no limit by the window */
#define OLAF_PILOT_SHIFT 3 /* shortest step: base / 8 */
#define OLAF_PILOT_REST 12 /* trials of base, once neither direction is better */
#define OLAF_PILOT_MOST_SKIPS 3 /* turns of a smaller size passed over, at most */

/* The size to use, at most `most`. */
static inline __u32 olaf_pilot_size(const struct olaf_pilot *pilot, __u32 most)
{
	__u32 size = pilot->trial.size ? pilot->trial.size : OLAF_PILOT_FIRST;

	return size < most ? size : most;
}

/* Forgets the running trial and begins it anew with the flights from `next` on. */
static inline void olaf_pilot_restart(struct olaf_pilot *pilot, __u64 next)
{
	pilot->mark = next;
	pilot->started_ns = 0;
	pilot->trial.acked = 0;
	pilot->trial.elapsed_ns = 0;
	pilot->starved = 0;
}

/* Is the throughput of `large` worth its size? `least`: 1 in how many more, 0: any. */
static inline int olaf_pilot_pays(const struct olaf_trial *small, const struct olaf_trial *large,
				  __u32 least)
{
	/* Microseconds: 2^17 ACKs x 2^27 us (2 minutes) x 2^14 stay below 2^63. */
	__u64 small_us = small->elapsed_ns / 1000 + 1, large_us = large->elapsed_ns / 1000 + 1;
	__u64 from = (__u64)large->acked * small_us, to = (__u64)small->acked * large_us;

	if (least && from < to + to / least)
		return 0;
	return from * OLAF_PILOT_PRICE * small->size >
	       to * ((OLAF_PILOT_PRICE - 1) * small->size + large->size);
}

/* The next size to try; base itself if there is none in either direction. */
static inline __u32 olaf_pilot_next(struct olaf_pilot *pilot, __u32 most)
{
	__u32 base = pilot->base.size, step, turn;

	for (turn = 0; turn < 2; turn++) {
		if (pilot->upwards) {
			step = base >> pilot->shift;
			step += !step;
			if (base < most)
				return base + step < most ? base + step : most;
		} else {
			step = base >> (pilot->shift + !pilot->shift);
			step += !step;
			if (base > 1)
				return base - step;
		}
		pilot->upwards = !pilot->upwards;
	}
	return base;
}

/* What the trial of another size has shown. Sets base, and where to go next. */
static inline void olaf_pilot_judge(struct olaf_pilot *pilot, int starved)
{
	int larger = pilot->trial.size > pilot->base.size, better;

	better = larger ? olaf_pilot_pays(&pilot->base, &pilot->trial, OLAF_PILOT_DOUBT) :
			  !starved && !olaf_pilot_pays(&pilot->trial, &pilot->base, 0);
	if (better) {
		pilot->base = pilot->trial;
		if (pilot->shift)
			pilot->shift--;
		pilot->skips = 0;
		pilot->rest = 0;
		return;
	}
	/* What the base gave is some time ago: first look again. */
	pilot->rest = 1;
	/* The other direction is yet to be tried. */
	if (larger && pilot->base.size > 1 && pilot->passed_over >= pilot->skips) {
		pilot->upwards = 0;
		return;
	}
	pilot->upwards = 1;
	if (pilot->shift < OLAF_PILOT_SHIFT) {
		pilot->shift++;
		return;
	}
	pilot->rest = OLAF_PILOT_REST;
	if (larger) {
		pilot->passed_over++;
	} else {
		pilot->passed_over = 0;
		if (pilot->skips < OLAF_PILOT_MOST_SKIPS)
			pilot->skips += pilot->skips + 1;
	}
}

/*
 * The ACK of flight `position` came at `now_ns`; `next` is the next flight's position,
 * `waits`: something waits to leave. Under the lock that guards *pilot.
 */
static inline __attribute__((always_inline)) void
olaf_pilot_acked(struct olaf_pilot *pilot, __u64 position, __u64 next, __u64 now_ns, int waits,
		 __u32 most)
{
	struct olaf_trial *trial = &pilot->trial;
	int starved;

	if (!trial->size || trial->size > most) {
		trial->size = olaf_pilot_size(pilot, most);
		pilot->base = *trial;
		pilot->upwards = 1;
		pilot->shift = 0;
		pilot->rest = 0;
		olaf_pilot_restart(pilot, position);
	}
	if ((__s64)(position - pilot->mark) < 0)
		return;
	if (!pilot->started_ns) {
		pilot->started_ns = now_ns;
		return;
	}
	trial->acked++;
	pilot->starved += !waits;
	if (now_ns < pilot->started_ns + OLAF_PILOT_LEAST_NS ||
	    trial->acked < OLAF_PILOT_LEAST_ACKS || trial->acked % trial->size)
		return;
	trial->elapsed_ns = now_ns - pilot->started_ns;
	starved = pilot->starved * OLAF_PILOT_STARVED > trial->acked;
	if (trial->size != pilot->base.size) {
		olaf_pilot_judge(pilot, starved);
	} else if (!starved) {
		pilot->base = *trial;
		if (pilot->rest)
			pilot->rest--;
	}
	trial->size = pilot->base.size;
	if (!pilot->rest && !starved)
		trial->size = olaf_pilot_next(pilot, most);
	olaf_pilot_restart(pilot, next);
}

#endif /* OLAF_WINDOW_PILOT_BPF_H */
