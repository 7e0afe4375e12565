/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who is the next hop: the kernel's FIB, asked at most once per OLAF_HOP_TTL_NS and
 * slot, so that a change of route or neighbour is followed within that time.
 *
 * The answer lives in the slot (struct olaf_nexthop), written under the slot's lock.
 */
#ifndef OLAF_NEXTHOP_BPF_H
#define OLAF_NEXTHOP_BPF_H

#include "bpf/queue/entry.bpf.h"
#include "bpf/queue/slot.bpf.h"

#define OLAF_HOP_TTL_NS 100000000ULL

/* Do departures of this kind need a next hop at all? Bridged and local ones don't. */
static __always_inline int olaf_needs_hop(int routed)
{
	return olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ||
	       (olaf_cfg.deliver == OLAF_DELIVER_FORWARD && routed);
}

/* Network-layer destination of a departure; IPv4 in [0]. */
static __always_inline void olaf_destination(__be32 daddr_be[4], struct olaf_entry *entry,
					     const struct olaf_pending *update)
{
	void *ip = olaf_frame_of(entry, update->header_bytes) +
		   (update->l3_offset & (OLAF_MAX_HEADERS - 1));
	int i;

	for (i = 0; i < 4; i++)
		daddr_be[i] = 0;
	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM) {
		for (i = 0; i < 4; i++)
			daddr_be[i] = olaf_cfg.upstream_addr_be[i];
	} else if (update->family == 4) {
		daddr_be[0] = *(__be32 *)(ip + 16);
	} else {
		for (i = 0; i < 4; i++)
			daddr_be[i] = *(__be32 *)(ip + 24 + 4 * i);
	}
}

/* IP version on the wire behind us. */
static __always_inline __u32 olaf_outer_family(const struct olaf_pending *update)
{
	return olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ? olaf_cfg.upstream_family :
							   update->family;
}

/* Asks the FIB, from the egress device's side. ctx is the program's own. */
static __always_inline void olaf_hop_lookup(void *ctx, struct olaf_nexthop *hop, __u32 family)
{
	struct bpf_fib_lookup fib = {};
	long result;
	int i;

	fib.ifindex = olaf_cfg.egress_ifindex;
	/*
	 * Not 0, or the kernel holds the skb's length against the MTU: in the lane that is
	 * the token's, up to OLAF_TOKEN_MAX_BYTES.
	 */
	fib.tot_len = 1;
	if (family == 4) {
		fib.family = OLAF_AF_INET;
		fib.ipv4_dst = hop->daddr_be[0];
		fib.ipv4_src = olaf_cfg.source_addr_be[0];
	} else {
		fib.family = OLAF_AF_INET6;
		for (i = 0; i < 4; i++) {
			fib.ipv6_dst[i] = hop->daddr_be[i];
			fib.ipv6_src[i] = olaf_cfg.source_addr_be[i];
		}
	}
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_OUTPUT);
	if (result == BPF_FIB_LKUP_RET_SUCCESS) {
		hop->state = OLAF_HOP_RESOLVED;
		__builtin_memcpy(hop->dmac, fib.dmac, ETH_ALEN);
		__builtin_memcpy(hop->smac, fib.smac, ETH_ALEN);
	} else if (result == BPF_FIB_LKUP_RET_NO_NEIGH) {
		hop->state = OLAF_HOP_NO_NEIGHBOUR;
	} else {
		hop->state = OLAF_HOP_NO_ROUTE;
	}
}

static __always_inline int olaf_same_destination(const __be32 a[4], const __be32 b[4])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/*
 * The hop of a departure of `slot`, from the slot's cache or the FIB. An answer other
 * than "resolved" isn't cached: the neighbour may appear at any moment.
 */
static __always_inline void olaf_hop_of(void *ctx, struct olaf_slot *slot,
					const __be32 daddr_be[4], __u32 family, __u64 now,
					struct olaf_nexthop *hop)
{
	int i;

	if (olaf_lock(&slot->lock)) {
		*hop = slot->nexthop;
		olaf_unlock(&slot->lock);
	}
	if (hop->state == OLAF_HOP_RESOLVED && now - hop->resolved_ns < OLAF_HOP_TTL_NS &&
	    olaf_same_destination(hop->daddr_be, daddr_be))
		return;
	for (i = 0; i < 4; i++)
		hop->daddr_be[i] = daddr_be[i];
	hop->resolved_ns = now;
	olaf_hop_lookup(ctx, hop, family);
	if (olaf_lock(&slot->lock)) {
		slot->nexthop = *hop;
		olaf_unlock(&slot->lock);
	}
}

#endif /* OLAF_NEXTHOP_BPF_H */
