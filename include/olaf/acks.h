/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is counted on the way back: ACKs from the parameter server to the workers.
 *
 * Compiled as BPF C, C11 and C++. A change of size or meaning raises OLAF_LAYOUT.
 */
#ifndef OLAF_ACKS_H
#define OLAF_ACKS_H

#include <linux/types.h>

/* olaf_ack_counters[0], one copy a CPU. Every field is a 64-bit count. */
struct olaf_ack_counters {
	__u64 unplaced; /* updates whose worker id has no place among the members: not learnt */
	__u64 sources_refused; /* updates from where no ACK may go: not learnt */
	__u64 takeovers_refused; /* updates in the name of a member that lives elsewhere: not learnt */
	__u64 deferred; /* updates of new members beyond a second's: not learnt yet */
	__u64 foreign; /* well-formed ACKs from where no member sends to: left alone */
	__u64 recognised; /* well-formed ACKs, neither foreign nor copies of ours */
	__u64 stamped; /* of those: carry this queue's state */
	__u64 kept; /* of those: a more congested queue's stamp was left in place */
	__u64 copied; /* of those: copies of it were made */
	__u64 copies; /* that left; an ACK that goes on to its own addressee is none */
	__u64 copies_refused; /* by the device or a filter behind ours */
	__u64 copies_unreachable; /* members of the other IP version, or whose MAC isn't known */
	__u64 copies_foreign; /* members that send to another address than the ACK comes from */
	__u64 copies_shared; /* members at an address and port that the ACK reaches already */
	__u64 copies_unfit; /* no memory to make one: the ACK was dropped with the rest of them */
};

#endif /* OLAF_ACKS_H */
