/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Age-of-Model meter: what kernel programs keep of each (cluster, segment), so that its
 * staleness can be told at any moment with no process running (paper, sections 2.2 and 6).
 *
 * The age is a sawtooth: it grows with time and falls, when an update departs, to that
 * update's age. With D the departure and A the newest folded update's arrival:
 *
 *   peak      = D - A(newest departed before)      the age just before it falls
 *   after     = D - A                              the age it falls to
 *   average   = area under the sawtooth / time
 *
 * An update no newer than the newest departed before leaves the sawtooth as it is: it is
 * stale, and has no peak. Measuring starts with the first departure: before it there is no
 * age. It is kept twice: A is once the arrival at the engine, once generated_ns.
 *
 * Between two departures the age grows from a to b: the area is (b^2 - a^2) / 2. Twice the
 * area is an integer, kept whole in 128 bits: exact, and good for 2^55 ns (a year) of ages
 * up to 2^63 ns whatever the rate.
 *
 * Compiled as BPF C, C11 and C++. User space reads it through loader/datapath/aom.hpp.
 */
#ifndef OLAF_AOM_H
#define OLAF_AOM_H

#include "olaf/u128.h"

/*
 * What a person wants to know is how old a model was lately. So the peaks of the last minute are
 * kept by second, and marks from which the area of any interval can be told.
 */
#define OLAF_AGE_SECOND_SHIFT 30 /* a second, here: 2^30 ns of CLOCK_MONOTONIC */
#define OLAF_AGE_SECONDS 64 /* a power of two */
#define OLAF_AGE_MARK_SHIFT 33 /* a mark for each 2^33 ns in which something departs */
#define OLAF_AGE_MARKS 8 /* a power of two; together as long as the seconds */

/* A histogram's bucket i counts 2^i ... 2^(i+1) - 1, bucket 0 also 0, the last all beyond. */
#define OLAF_AGE_BUCKETS 48 /* ns: the last one starts at 39 hours */
#define OLAF_FOLD_BUCKETS 16 /* updates: the last one starts at 32,768 */

/* One cluster's age by one clock; 64 bytes, a cache line. */
struct olaf_sawtooth {
	__s64 newest_ns; /* A of the newest departed update, on CLOCK_MONOTONIC; < 0: before boot */
	struct olaf_u128 twice_area; /* ns^2, from first_ns to last_ns of the meter */
	struct olaf_u128 peak_sum; /* ns */
	__u64 peaks; /* falls: departures but the first and the stale ones */
	__u64 highest_peak_ns;
	__u64 last_age_ns; /* of the update that departed last, stale or not, as it departed */
};
OLAF_SPAN(olaf_sawtooth, 0, 56, newest_ns, twice_area, peak_sum, peaks, highest_peak_ns);
OLAF_LAST(olaf_sawtooth, 56, 64, last_age_ns);

/* Peaks of one second: the highest age just before a fall, 0 where there was none. */
struct olaf_age_peaks {
	__u64 arrival_ns;
	__u64 generated_ns;
};
OLAF_LAST(olaf_age_peaks, 0, 16, arrival_ns, generated_ns);

/*
 * The meter between two departures, the later one being the first in its 2^33 ns. Within them the
 * age grew steadily: the area up to any moment from from_ns to to_ns follows.
 */
struct olaf_age_mark {
	__u64 from_ns; /* the earlier departure */
	__u64 to_ns; /* the later one; 0: no mark yet */
	__s64 newest_arrival_ns; /* newest_ns of both sawteeth meanwhile */
	__s64 newest_generated_ns;
	struct olaf_u128 twice_arrival; /* twice_area of both up to from_ns */
	struct olaf_u128 twice_generated;
};
OLAF_SPAN(olaf_age_mark, 0, 32, from_ns, to_ns, newest_arrival_ns, newest_generated_ns);
OLAF_LAST(olaf_age_mark, 32, 64, twice_arrival, twice_generated);

/* So often newer than each other, and all behind the newest: departures of a run that a server began. */
#define OLAF_VERSION_RUN 16

/*
 * olaf_aom[cluster x max_segments + segment]. Times are CLOCK_MONOTONIC, so that setting a
 * clock moves no area. Writers: departures, one at a time (bpf/age/aom.bpf.h says what orders
 * them). Reading while they run: a copy made upwards is of one moment if `ended` == `begun`,
 * which a writer raises last and first; else copy again.
 */
struct olaf_aom {
	__u64 ended; /* departures written, those that are forgotten too */
	__u64 first_ns; /* first departure that counts; valid once ended > 0 */
	__u64 last_ns; /* last one */
	struct olaf_u128 wait_sum; /* ns in the queue, from its first folded update's arrival */
	__u64 wait_max_ns;
	__u64 updates; /* sum of count over departures */
	__u64 from_future; /* generated_ns was ahead of our clock: taken as generated just now */
	struct olaf_sawtooth arrival; /* A: arrival at the engine; 0 for what passes through */
	struct olaf_sawtooth generated; /* A: generated_ns */
	__u32 version_newest; /* newest model version of a departed update, in serial order */
	__u32 version_lag; /* how far behind that the last departure's oldest was */
	__u32 version_lag_max; /* this and the sum without the row below, unless it ended */
	__u32 version_row_rises; /* departures of the row that were newer than all before in it */
	struct olaf_u128 version_lag_sum;
	__u64 age_by_arrival[OLAF_AGE_BUCKETS]; /* departures by last_age_ns */
	__u64 age_by_generated[OLAF_AGE_BUCKETS];
	__u64 folds[OLAF_FOLD_BUCKETS]; /* departures by count (the paper's figure 6) */
	struct olaf_age_peaks seconds[OLAF_AGE_SECONDS]; /* second s at s % 64; up to last_ns's */
	struct olaf_age_mark marks[OLAF_AGE_MARKS]; /* 2^33 ns number m at m % 8 */
	struct olaf_u128 arrival_age_sum; /* ns, of ages as updates departed */
	struct olaf_u128 generated_age_sum;
	__u64 forgotten; /* departures before first_ns: `olaf reset` started the figures anew */
	/* Departures in a row that are all behind version_newest: late ones, or a server's new run. */
	__u64 version_row_sum; /* of their lags; 0: no row */
	__u32 version_row_max;
	__u32 version_row_newest;
	__u64 begun; /* departures begun */
};
OLAF_SPAN(olaf_aom, 0, 64, ended, first_ns, last_ns, wait_sum, wait_max_ns, updates, from_future);
OLAF_SPAN(olaf_aom, 64, 204, arrival, generated, version_newest, version_lag, version_lag_max);
OLAF_SPAN(olaf_aom, 204, 1120, version_row_rises, version_lag_sum, age_by_arrival, age_by_generated, folds);
OLAF_SPAN(olaf_aom, 1120, 2696, seconds, marks, arrival_age_sum, generated_age_sum, forgotten);
OLAF_SPAN(olaf_aom, 2696, 2712, version_row_sum, version_row_max, version_row_newest);
OLAF_LAST(olaf_aom, 2712, 2720, begun);
/* `ended` is copied first and `begun` last, as a copy is made upwards. */

#endif /* OLAF_AOM_H */
