/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Since when something goes wrong: spells of trouble. Counters say how often, a spell says from
 * when until when.
 *
 * A spell begins with the first message or frame that a trouble befalls, and goes on for as long as
 * the next one comes within OLAF_SPELL_GAP_NS of the last. Of each trouble the last spell is kept.
 *
 * Compiled as BPF C, C11 and C++. A change of size or meaning raises OLAF_LAYOUT.
 */
#ifndef OLAF_SPELLS_H
#define OLAF_SPELLS_H

#include <linux/types.h>

#include "olaf/protocol.h"

/* A trouble that is over for so long has ended: the next one begins a new spell. */
#define OLAF_SPELL_GAP_NS 10000000000ULL

/* clang-format off */
/* X(CONSTANT, what happens) */
#define OLAF_TROUBLE_LIST(X) \
	X(OLAF_TROUBLE_MALFORMED, "messages are malformed") \
	X(OLAF_TROUBLE_NOT_ALLOWED, "well-formed messages are refused") \
	X(OLAF_TROUBLE_BYPASSED, "updates are left alone; other traffic is no trouble") \
	X(OLAF_TROUBLE_DROPPED, "messages are dropped, but for those whose reward is too low") \
	X(OLAF_TROUBLE_UNFIT, "departures fail: no frame can carry them") \
	X(OLAF_TROUBLE_LOST, "frames are lost behind the queue") \
	/* end */
/* clang-format on */

#define OLAF_TROUBLE_CONSTANT(constant, ...) constant,
enum olaf_trouble { OLAF_TROUBLE_LIST(OLAF_TROUBLE_CONSTANT) OLAF_TROUBLES };

/*
 * olaf_spells[enum olaf_trouble], one copy a CPU: the last spell that this CPU saw. Times are
 * CLOCK_MONOTONIC; both 0: none yet. began_ns is written first and last_ns is read first, so
 * that who reads in between finds a spell that ends before it begins, and never one that is too long.
 */
struct olaf_spell {
	__u64 last_ns; /* when it happened last */
	__u64 began_ns; /* when it happened first */
};
OLAF_LAST(olaf_spell, 0, 16, last_ns, began_ns);

#endif /* OLAF_SPELLS_H */
