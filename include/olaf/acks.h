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

/* olaf_ack_counters[0], one copy a CPU. Every field is a 64-bit count (olaf/counters.h). */
struct olaf_ack_counters {
	OLAF_ACK_COUNTER_LIST(OLAF_COUNTER_FIELD)
};

#endif /* OLAF_ACKS_H */
