/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long to wait for an ACK: RFC 6298's smoothed round-trip time and variation.
 *
 * No update is ever sent twice, so every ACK of a flight, a late one too, is a sample
 * without ambiguity. Pure: no map, no helper, no clock; compiled into unit tests too.
 */
#ifndef OLAF_WINDOW_RTT_BPF_H
#define OLAF_WINDOW_RTT_BPF_H

#include "olaf/window.h"

/* Before the first sample (RFC 6298, 2.1). */
#define OLAF_TIMEOUT_FIRST_NS 1000000000ULL
/* What a process on a busy host may be late without anything being lost. */
#define OLAF_TIMEOUT_MARGIN_NS 10000000ULL
/* Longest timeout, and longest that doubling makes of a shorter one. */
#define OLAF_TIMEOUT_MOST_NS 60000000000ULL
#define OLAF_TIMEOUT_DOUBLED_NS 2000000000ULL
#define OLAF_MOST_BACKOFF 16

static inline void olaf_rtt_sample(struct olaf_rtt *rtt, __u64 sample_ns)
{
	__u64 difference;

	if (sample_ns > OLAF_TIMEOUT_MOST_NS)
		sample_ns = OLAF_TIMEOUT_MOST_NS;
	if (!rtt->smoothed_ns) {
		rtt->smoothed_ns = sample_ns + 1; /* 0 is none */
		rtt->variation_ns = sample_ns / 2;
		return;
	}
	difference = rtt->smoothed_ns > sample_ns ? rtt->smoothed_ns - sample_ns :
						    sample_ns - rtt->smoothed_ns;
	rtt->variation_ns = (3 * rtt->variation_ns + difference) / 4;
	rtt->smoothed_ns = (7 * rtt->smoothed_ns + sample_ns) / 8 + 1;
}

/* Nanoseconds after its departure at which a flight is given up. */
static inline __u64 olaf_rtt_timeout(const struct olaf_rtt *rtt)
{
	__u64 margin = 4 * rtt->variation_ns, timeout, doubled;
	__u32 backoff = rtt->backoff;

	/* On a long path a lost ACK holds up little, and a server that pauses is no loss. */
	if (margin < rtt->smoothed_ns / 4)
		margin = rtt->smoothed_ns / 4;
	if (margin < OLAF_TIMEOUT_MARGIN_NS)
		margin = OLAF_TIMEOUT_MARGIN_NS;
	timeout = rtt->smoothed_ns ? rtt->smoothed_ns + margin : OLAF_TIMEOUT_FIRST_NS;
	if (timeout > OLAF_TIMEOUT_MOST_NS)
		timeout = OLAF_TIMEOUT_MOST_NS;
	if (backoff > OLAF_MOST_BACKOFF)
		backoff = OLAF_MOST_BACKOFF;
	doubled = timeout << backoff;
	if (doubled > OLAF_TIMEOUT_DOUBLED_NS)
		doubled = OLAF_TIMEOUT_DOUBLED_NS;
	return doubled > timeout ? doubled : timeout;
}

#endif /* OLAF_WINDOW_RTT_BPF_H */
