/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every policy of the queue:
 *
 *   X(CONSTANT, name, folds)
 *
 *   folds       it keeps a cluster's update in the cluster's slot, two buffers each; one that
 *               doesn't takes its entry by the place in the ring
 *
 * The kernel's dispatch (policies/registry.bpf.h), the command's names and the tests are
 * all made from this list. Numbers are kept in pinned maps: append, never reorder.
 */
#ifndef OLAF_POLICIES_H
#define OLAF_POLICIES_H

#define OLAF_POLICY_LIST(X)                    \
	X(OLAF_POLICY_OLAF, olaf, 1)           \
	X(OLAF_POLICY_FIFO, fifo, 0)           \
	X(OLAF_POLICY_AGGREGATE, aggregate, 1) \
	X(OLAF_POLICY_NEWEST, newest, 1)

#define OLAF_POLICY_CONSTANT(constant, name, folds) constant,

enum olaf_policy {
	OLAF_POLICY_LIST(OLAF_POLICY_CONSTANT)
	OLAF_POLICIES, /* how many there are */
};

#endif /* OLAF_POLICIES_H */
