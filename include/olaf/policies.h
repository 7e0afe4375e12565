/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every policy of the queue:
 *
 *   X(CONSTANT, name, folds, completes, fate)
 *
 *   folds       it keeps a cluster's update in the cluster's slot, two buffers each; one that
 *               doesn't takes its entry by the place in the ring
 *   completes   when an entry may take its turn in the ring (policies/decision.bpf.h):
 *               at_once: with its first update; what comes before its turn is merged into it
 *   fate        what becomes of its buffer when it has left (enum olaf_buffer_state):
 *               FREE: it may be used again; KEPT: its result may be asked for again
 *
 * The kernel's dispatch (policies/registry.bpf.h), the command's names and the tests are
 * all made from this list. Numbers are kept in pinned maps: append, never reorder.
 */
#ifndef OLAF_POLICIES_H
#define OLAF_POLICIES_H

/* A build may try policies that aren't the queue's: tests/interleave/trial_policy.h. */
#ifndef OLAF_TRIAL_POLICIES
#define OLAF_TRIAL_POLICIES(X)
#endif

#define OLAF_POLICY_LIST(X)                                   \
	X(OLAF_POLICY_OLAF, olaf, 1, at_once, FREE)           \
	X(OLAF_POLICY_FIFO, fifo, 0, at_once, FREE)           \
	X(OLAF_POLICY_AGGREGATE, aggregate, 1, at_once, FREE) \
	X(OLAF_POLICY_NEWEST, newest, 1, at_once, FREE)       \
	OLAF_TRIAL_POLICIES(X)

#define OLAF_POLICY_CONSTANT(constant, name, folds, completes, fate) constant,

enum olaf_policy {
	OLAF_POLICY_LIST(OLAF_POLICY_CONSTANT)
	OLAF_POLICIES, /* how many there are */
};

#endif /* OLAF_POLICIES_H */
