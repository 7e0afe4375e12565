/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window: departures by the ACKs that come back for them (`olaf attach --window`).
 *
 * A departure is due while fewer than N departed updates are unacknowledged. Each of
 * those is a flight. Times are nanoseconds of CLOCK_MONOTONIC unless said otherwise,
 * integers in host order. A change of size or meaning raises OLAF_LAYOUT.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_WINDOW_H
#define OLAF_WINDOW_H

#include <linux/types.h>

#include "olaf/counters.h"
#include "olaf/protocol.h"

/* The largest N. */
#define OLAF_MAX_WINDOW 1024

/*
 * Flights that are remembered, a power of two: those in flight, those between them that
 * are acknowledged already, and those given up whose ACKs may yet come.
 */
#define OLAF_FLIGHTS 2048

/* No time: it never comes. */
#define OLAF_NEVER_NS (~0ULL)

enum olaf_flight_state {
	OLAF_FLIGHT_NONE = 0, /* never used */
	OLAF_FLIGHT_OPEN = 1, /* no ACK yet */
	OLAF_FLIGHT_RELEASED = 2, /* a later one of its (cluster, segment) was acknowledged */
	OLAF_FLIGHT_ACKED = 3,
};

/* olaf_flights[0]: flights in order; flight p is element p % OLAF_FLIGHTS. */
struct olaf_flight {
	__u32 state; /* enum olaf_flight_state */
	__u32 cluster; /* this and the next four: as the departing header has them */
	__u32 worker;
	__u32 sequence;
	__u16 segment;
	__u16 segments;
	__u32 pad;
	__u64 generated_ns; /* CLOCK_TAI */
	__u64 departed_ns;
};
OLAF_SPAN(olaf_flight, 0, 24, state, cluster, worker, sequence, segment, segments, pad);
OLAF_LAST(olaf_flight, 24, 40, generated_ns, departed_ns);

/* Round-trip time, departure to ACK: RFC 6298. All zero: no ACK has come yet. */
struct olaf_rtt {
	__u64 smoothed_ns; /* SRTT */
	__u64 variation_ns; /* RTTVAR */
	__u32 backoff; /* timeouts in a row without any ACK: each doubles the next */
	__u32 pad;
};
OLAF_LAST(olaf_rtt, 0, 24, smoothed_ns, variation_ns, backoff, pad);

/* How many ACKs came in how long a time, at what size. */
struct olaf_trial {
	__u32 size; /* N */
	__u32 acked;
	__u64 elapsed_ns;
};
OLAF_LAST(olaf_trial, 0, 16, size, acked, elapsed_ns);

/* What `--window auto` knows; all zero: nothing. */
struct olaf_pilot {
	struct olaf_trial base; /* the best size known, and what it gave */
	struct olaf_trial trial; /* the size in use, and what it has given so far */
	__u64 mark; /* flights from here on departed at the trial's size */
	__u64 started_ns; /* of the trial; 0: still waiting for the first ACK of those */
	__u32 starved; /* ACKs of the trial that found nothing waiting */
	__u32 upwards; /* the next size to try is larger than base */
	__u16 shift; /* and differs by base >> shift */
	__u8 skips; /* turns of a smaller size to pass over, as those before only lost throughput */
	__u8 passed_over; /* turns of a smaller size since the last one was tried */
	__u32 rest; /* trials of base itself before the next other one */
};
OLAF_SPAN(olaf_pilot, 0, 59, base, trial, mark, started_ns, starved, upwards, shift, skips);
OLAF_LAST(olaf_pilot, 59, 64, passed_over, rest);

/* olaf_window[0] */
struct olaf_window {
	__u64 next; /* position of the next flight */
	__u64 oldest; /* flights before it are acknowledged or given up */
	__u64 expires_ns; /* flights must be looked at then; OLAF_NEVER_NS: none */
	__u64 answered_ns; /* the last ACK of a flight; 0: never */
	__u32 in_flight; /* OLAF_FLIGHT_OPEN from oldest on */
	__u32 silent; /* nothing was answered for a whole timeout: one at a time until it is */
	struct olaf_rtt rtt;
	struct olaf_pilot pilot; /* OLAF_CONFIG_WINDOW_AUTO alone */
	OLAF_WINDOW_COUNTER_LIST(OLAF_COUNTER_FIELD) /* unmatched: atomic */
};
OLAF_SPAN(olaf_window, 0, 64, next, oldest, expires_ns, answered_ns, in_flight, silent, rtt);
OLAF_LAST(olaf_window, 64, 168, pilot, acked, released, forgiven, late, unmatched);

#endif /* OLAF_WINDOW_H */
