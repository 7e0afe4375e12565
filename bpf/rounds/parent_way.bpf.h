/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The two ends of what a node sends to its parent, for XDP and for TC. */
#ifndef OLAF_ROUND_PARENT_WAY_BPF_H
#define OLAF_ROUND_PARENT_WAY_BPF_H

#include "bpf/rounds/frame.bpf.h"

/*
 * Ends and IP version of the way. Both MAC addresses are the queue's own, so that the kernel takes the
 * frame for one to this host, until somebody who knows puts others there.
 */
static __always_inline void olaf_parent_ends(const struct olaf_job *job, struct olaf_round_way *way)
{
	const struct olaf_job_setup *setup = &job->setup;
	int i;

	olaf_address_copy(way->ends.saddr_be, setup->source_addr_be);
	olaf_address_copy(way->ends.daddr_be, setup->parent_addr_be);
	way->ends.source_be = olaf_cfg.port_be;
	way->ends.dest_be = setup->parent_port_be;
	way->family = setup->parent_family;
	for (i = 0; i < ETH_ALEN; i++) {
		way->dmac[i] = olaf_cfg.mac[i];
		way->smac[i] = olaf_cfg.mac[i];
	}
}

#endif /* OLAF_ROUND_PARENT_WAY_BPF_H */
