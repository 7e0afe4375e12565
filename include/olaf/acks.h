/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is counted on the way back: ACKs from the parameter server to the workers.
 *
 * Compiled as BPF C, C11 and C++. A change of size or meaning raises OLAF_LAYOUT.
 */
#ifndef OLAF_ACKS_H
#define OLAF_ACKS_H

#include <linux/types.h>

#include "olaf/counters.h"
#include "olaf/layout.h"

/* olaf_ack_counters[0], one copy a CPU. Every field is a 64-bit count (olaf/counters.h). */
struct olaf_ack_counters {
	OLAF_ACK_COUNTER_LIST(OLAF_COUNTER_FIELD)
};
OLAF_SPAN(olaf_ack_counters, 0, 32, unplaced, sources_refused, takeovers_refused, deferred);
OLAF_SPAN(olaf_ack_counters, 32, 80, foreign, recognised, stamped, kept, copied, copies);
OLAF_SPAN(olaf_ack_counters, 80, 104, copies_refused, copies_unreachable, copies_foreign);
OLAF_LAST(olaf_ack_counters, 104, 120, copies_shared, copies_unfit);

#endif /* OLAF_ACKS_H */
