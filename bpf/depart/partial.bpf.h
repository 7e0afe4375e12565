/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An update that leaves in its own frame, whose UDP checksum is partial (packet/partial.bpf.h). */
#ifndef OLAF_PARTIAL_BPF_H
#define OLAF_PARTIAL_BPF_H

#include "bpf/packet/partial.bpf.h"
#include "bpf/way/wayout.bpf.h"

/* Will the device that the frame leaves by make its checksum right? */
static __always_inline int olaf_finishes(const struct olaf_arrival *a)
{
	__u32 bytes = a->update.header_bytes;

	if (!olaf_is_partial(a) || olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		bytes = ETH_HLEN + sizeof(struct udphdr) +
			(olaf_cfg.upstream_family == 4 ? sizeof(struct iphdr) :
							 sizeof(struct ipv6hdr));
	return (olaf_cfg.flags & OLAF_CONFIG_OUTPUT_SUMS) && bytes == a->update.header_bytes;
}

/* Leaves the checksum of a frame with new headers to the device again. */
static __always_inline void olaf_leave_partial(struct olaf_entry *staged,
					       const struct olaf_pending *update)
{
	struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	__u32 l3_offset = olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ? ETH_HLEN : update->l3_offset;

	udp->check = olaf_partial_checksum(staged, update->header_bytes, l3_offset,
					   olaf_outer_family(update));
}

#endif /* OLAF_PARTIAL_BPF_H */
