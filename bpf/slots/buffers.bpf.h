/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The buffers of a slot, each with a state of its own (enum olaf_buffer_state):
 *
 *   FREE --open--> OPEN --seal--> SEALED --pop--> LEAVING --copied--> FREE
 *                    |                              ^
 *                    +-------------pop--------------+
 *
 * A buffer has a place in the ring from the moment on that it is opened.
 *
 * All steps but the one out of LEAVING are taken under the slot's lock. That one is the
 * departer's, without it: until then a buffer that leaves belongs to one CPU alone. Who needs two
 * answers of one moment reads the states once.
 */
#ifndef OLAF_BUFFERS_BPF_H
#define OLAF_BUFFERS_BPF_H

#include "bpf/slots/slot.bpf.h"

/* What olaf_buffer_free() says if there is none. */
#define OLAF_NO_BUFFER OLAF_BUFFERS

/*
 * Entry of a slot's buffer. First buffers lie together and second ones behind them: most
 * of the time only first ones are in use, and with many clusters that halves the pages
 * (and the TLB misses) of what is.
 */
static __always_inline __u32 olaf_entry_of(__u32 slot, __u32 buffer)
{
	return buffer ? olaf_slots_configured() + slot : slot;
}

/* Which buffer of its slot an entry is; OLAF_BUFFER_OF_PLACE: none, it belongs to a place. */
static __always_inline __u32 olaf_buffer_of(__u32 entry)
{
	if (!olaf_entry_is_buffer(entry))
		return OLAF_BUFFER_OF_PLACE;
	return entry >= olaf_slots_configured();
}

static __always_inline __u32 olaf_buffer_state(const struct olaf_slot *slot, __u32 buffer)
{
	return READ_ONCE(slot->buffers[buffer]);
}

static __always_inline int olaf_buffer_is_open(const struct olaf_slot *slot, __u32 buffer)
{
	return olaf_buffer_state(slot, buffer) == OLAF_BUFFER_OPEN;
}

/* Is there something that an arrival may be merged into? */
static __always_inline int olaf_slot_gathers(const struct olaf_slot *slot)
{
	return olaf_buffer_is_open(slot, 0) || olaf_buffer_is_open(slot, 1);
}

/* A buffer that an update can be put into, or OLAF_NO_BUFFER. Under the slot's lock. */
static __always_inline __u32 olaf_buffer_free(const struct olaf_slot *slot)
{
	if (olaf_buffer_state(slot, 0) == OLAF_BUFFER_FREE)
		return 0;
	return olaf_buffer_state(slot, 1) == OLAF_BUFFER_FREE ? 1 : OLAF_NO_BUFFER;
}

/* Is a departure of the slot being copied out? There is one at a time. */
static __always_inline int olaf_slot_is_leaving(const struct olaf_slot *slot)
{
	return olaf_buffer_state(slot, 0) == OLAF_BUFFER_LEAVING ||
	       olaf_buffer_state(slot, 1) == OLAF_BUFFER_LEAVING ||
	       olaf_buffer_state(slot, OLAF_BUFFER_OF_PLACE) == OLAF_BUFFER_LEAVING;
}

#endif /* OLAF_BUFFERS_BPF_H */
