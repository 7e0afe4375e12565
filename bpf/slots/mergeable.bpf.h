/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * May the arrival be merged into an update that waits? Only if both have the same shape
 * and the same way out:
 *
 *   delivery            | same way out
 *   --------------------|------------------------------------------------------------
 *   upstream            | always: all that leaves goes to the one server
 *   forward, routed     | IP version, VLAN tags, destination address
 *   forward, bridged    | these and the destination MAC address
 *   local               | these and the destination MAC address
 *
 * The merged update leaves with the newest arrival's headers. Without this a frame to
 * another server would take along all that waits for this one.
 *
 * The waiting entry's headers are read where folding is about to write them.
 */
#ifndef OLAF_MERGEABLE_BPF_H
#define OLAF_MERGEABLE_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/parse.bpf.h"
#include "bpf/slots/entry.bpf.h"

/* Where the network header begins at the latest. */
#define OLAF_MAX_L3_OFFSET (ETH_HLEN + OLAF_MAX_VLAN_TAGS * sizeof(struct olaf_vlan))

/* The tags between the MAC addresses and the EtherType of the network layer. */
static __always_inline int olaf_same_vlans(const void *frame, const void *waiting,
					   __u32 l3_offset)
{
	const __u32 *theirs = frame + 2 * ETH_ALEN, *ours = waiting + 2 * ETH_ALEN;

	if (l3_offset == ETH_HLEN)
		return 1;
	return theirs[0] == ours[0] &&
	       (l3_offset == ETH_HLEN + sizeof(struct olaf_vlan) || theirs[1] == ours[1]);
}

static __always_inline int olaf_same_target(const void *ip, const void *waiting_ip, __u32 family)
{
	const __u32 *theirs = ip + offsetof(struct iphdr, daddr);
	const __u32 *ours = waiting_ip + offsetof(struct iphdr, daddr);

	if (family == 4)
		return theirs[0] == ours[0];
	theirs = ip + offsetof(struct ipv6hdr, daddr);
	ours = waiting_ip + offsetof(struct ipv6hdr, daddr);
	return theirs[0] == ours[0] && theirs[1] == ours[1] && theirs[2] == ours[2] &&
	       theirs[3] == ours[3];
}

/* Would the update at hand leave by the same way as the entry? */
static __always_inline int olaf_same_way_out(struct xdp_md *ctx, const struct olaf_arrival *a,
					     struct olaf_entry *entry)
{
	const void *frame = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const struct olaf_pending *waiting = &entry->pending;
	const void *theirs = olaf_frame_of(entry, waiting->header_bytes);
	__u32 l3_offset = a->update.l3_offset;
	const void *ip;

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return 1;
	if (waiting->l3_offset != l3_offset || waiting->family != a->update.family ||
	    waiting->routed != a->update.routed)
		return 0;
	l3_offset = olaf_clamp(l3_offset, ETH_HLEN, OLAF_MAX_L3_OFFSET);
	ip = frame + l3_offset;
	olaf_keep(ip);
	/* No update is so short that the longer of the IP headers doesn't end within it. */
	if (frame + OLAF_MAX_L3_OFFSET > end || ip + sizeof(struct ipv6hdr) > end)
		return 0;
	return (a->update.routed || olaf_is_mac(frame, theirs)) &&
	       olaf_same_vlans(frame, theirs, l3_offset) &&
	       olaf_same_target(ip, theirs + l3_offset, a->update.family);
}

static __always_inline int olaf_mergeable(struct xdp_md *ctx, const struct olaf_arrival *a,
				     struct olaf_entry *entry)
{
	return entry->pending.lanes == a->update.lanes && entry->pending.flags == a->update.flags &&
	       olaf_same_way_out(ctx, a, entry);
}

#endif /* OLAF_MERGEABLE_BPF_H */
