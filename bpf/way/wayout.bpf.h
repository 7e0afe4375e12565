/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is the way out of an update there? Nothing is due while it isn't: what waits goes on
 * waiting and folding, and leaves when the way is back.
 *
 *   delivery            | the way out is there when
 *   --------------------|------------------------------------------------------------
 *   local               | always: it is this host's stack
 *   forward, bridged    | the output device takes frames (gate.bpf.h)
 *   forward, routed     | that, and the next hop has answered (hops.bpf.h)
 *   upstream            | the same
 */
#ifndef OLAF_WAYOUT_BPF_H
#define OLAF_WAYOUT_BPF_H

#include "bpf/packet/parse.bpf.h"
#include "bpf/way/gate.bpf.h"
#include "bpf/way/hops.bpf.h"

/* Do departures of this kind need a next hop at all? Bridged and local ones don't. */
static __always_inline int olaf_needs_hop(int routed)
{
	return olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ||
	       (olaf_cfg.deliver == OLAF_DELIVER_FORWARD && routed);
}

/* IP version on the wire behind us. */
static __always_inline __u32 olaf_outer_family(const struct olaf_pending *update)
{
	return olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ? olaf_cfg.upstream_family :
							   update->family;
}

/* Where the update goes; its network header is at `ip`. */
static __always_inline void olaf_destination_of(struct olaf_destination *to, const void *ip,
						const struct olaf_pending *update)
{
	to->family = olaf_outer_family(update);
	__builtin_memset(to->addr_be, 0, sizeof(to->addr_be));
	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM) {
		olaf_address_copy(to->addr_be, olaf_cfg.upstream_addr_be);
	} else if (update->family == 4) {
		to->addr_be[0] = *(__be32 *)(ip + offsetof(struct iphdr, daddr));
	} else {
		olaf_address_copy(to->addr_be,
				  (const __be32 *)(ip + offsetof(struct ipv6hdr, daddr)));
	}
	to->index = olaf_hop_index(to->addr_be);
}

/* The same for an update whose headers lie in an entry, or in the staging area. */
static __always_inline void olaf_destination_in(struct olaf_destination *to,
						struct olaf_entry *entry,
						const struct olaf_pending *update)
{
	olaf_destination_of(to,
			    olaf_frame_of(entry, update->header_bytes) +
				    (update->l3_offset & (OLAF_MAX_HEADERS - 1)),
			    update);
}

/*
 * Is the way out there for the update whose headers lie in `entry`? Fills *to and *next where
 * a next hop is needed. A hint: nothing is held meanwhile. The caller names the entry by its
 * position when it pops it, and an entry's way out never changes.
 */
static __always_inline int olaf_way_is_there(void *ctx, struct olaf_entry *entry,
					     const struct olaf_pending *update, __u64 now,
					     struct olaf_destination *to,
					     struct olaf_nexthop *next)
{
	next->state = OLAF_HOP_RESOLVED;
	next->stale = 0;
	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	if (!olaf_gate_may(now))
		return 0;
	if (!olaf_needs_hop(update->routed))
		return 1;
	olaf_destination_in(to, entry, update);
	olaf_hop_of(ctx, to, now, next);
	return next->state == OLAF_HOP_RESOLVED;
}

/*
 * Does an update fit through the way out? Its device's MTU was written into the
 * configuration at attach, so an arrival is refused before it waits in vain. The MTU may
 * shrink later: olaf_fits_now() asks the kernel, for a departure.
 */

/*
 * Bytes that count towards the MTU when this update leaves: its IP packet as it will be,
 * and the second VLAN tag. A device makes room for one tag beyond its MTU.
 */
static __always_inline __u32 olaf_bytes_out(const struct olaf_pending *update)
{
	__u32 message_bytes = sizeof(struct olaf_header) + 8 * update->lanes;
	__u32 tag_bytes = update->l3_offset - ETH_HLEN;

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return message_bytes + sizeof(struct udphdr) +
		       (olaf_cfg.upstream_family == 4 ? sizeof(struct iphdr) :
							sizeof(struct ipv6hdr));
	if (tag_bytes <= sizeof(struct olaf_vlan))
		tag_bytes = 0;
	else
		tag_bytes -= sizeof(struct olaf_vlan);
	return tag_bytes + update->header_bytes - update->l3_offset + message_bytes;
}

/* As attached. What goes up this host's own stack always fits. */
static __always_inline int olaf_fits_out(const struct olaf_pending *update)
{
	return !olaf_cfg.egress_mtu || olaf_bytes_out(update) <= olaf_cfg.egress_mtu;
}

/*
 * As the MTU is now. `ctx` is the program's own, XDP or TC. Yes if the kernel can't tell:
 * then the device refuses the frame, and that is counted.
 */
static __always_inline int olaf_fits_now(void *ctx, const struct olaf_pending *update)
{
	__u32 bytes = olaf_bytes_out(update);

	if (!olaf_cfg.egress_mtu)
		return 1;
	return bpf_check_mtu(ctx, olaf_cfg.egress_ifindex, &bytes, 0, 0) !=
	       BPF_MTU_CHK_RET_FRAG_NEEDED;
}

#endif /* OLAF_WAYOUT_BPF_H */
