/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is an update the queue's to take? What isn't goes to the kernel as if we weren't there.
 *
 *   delivery            | MAC address    | IP address     |
 *   --------------------|----------------|----------------|---------------------------------
 *   local, upstream     | any            | this host's    | ours
 *   local, upstream     | any            | another        | bypass: foreign
 *   forward             | this host's    | another        | ours, routed
 *   forward             | this host's    | this host's    | bypass: foreign
 *   forward             | this host's    | another, and it may travel no further: bypass: foreign
 *   forward, bridging   | another's      | any            | ours, bridged
 *   forward             | another's, or a group's          | bypass: unbridged
 */
#ifndef OLAF_OURS_BPF_H
#define OLAF_OURS_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/own.bpf.h"
#include "bpf/packet/own_mac.bpf.h"
#include "bpf/packet/parse.bpf.h"

/* What a CPU knows of the address that it last saw is looked up again after this long. */
#define OLAF_KNOWN_NS 100000000ULL

/* TTL or hop limit of the network header at `offset`. */
static __always_inline __u32 olaf_hop_limit(void *data, void *end, __u32 offset, __u32 family)
{
	__u8 *limit = olaf_at(data, offset) + (family == 4 ? offsetof(struct iphdr, ttl) :
							     offsetof(struct ipv6hdr, hop_limit));

	return (void *)(limit + 1) <= end ? *limit : 0;
}

/* The destination address, IPv4 in [0]. Returns -1 if the frame ends before it. */
static __always_inline int olaf_target_read(struct xdp_md *ctx, const struct olaf_arrival *a,
					    __be32 addr_be[4])
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	const void *ip = olaf_at(data, a->update.l3_offset);
	const __be32 *daddr_be = ip + offsetof(struct ipv6hdr, daddr);

	if (ip + sizeof(struct ipv6hdr) > end)
		return -1;
	if (a->update.family == 4) {
		daddr_be = ip + offsetof(struct iphdr, daddr);
		addr_be[0] = daddr_be[0];
		addr_be[1] = 0;
		addr_be[2] = 0;
		addr_be[3] = 0;
		return 0;
	}
	olaf_address_copy(addr_be, daddr_be);
	return 0;
}

/* Looks the address up, for the updates to come as well. Returns whether it is this host's. */
__noinline int olaf_target_learn(struct xdp_md *ctx)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_own_address mapped = {};
	__be32 addr_be[4] = {};

	if (!a || olaf_target_read(ctx, a, addr_be))
		return 0;
	olaf_map_address(mapped.words_be, addr_be, a->update.family);
	olaf_address_copy(a->known_be, addr_be);
	a->known_family = a->update.family;
	a->known_until_ns = a->now + OLAF_KNOWN_NS;
	a->known_own = olaf_is_own_address(mapped.words_be);
	return a->known_own;
}

/* Is the update addressed to this host? Nearly always its address is the last one's. */
static __always_inline int olaf_target_is_own(struct xdp_md *ctx, struct olaf_arrival *a)
{
	__be32 addr_be[4] = {};

	if (olaf_target_read(ctx, a, addr_be))
		return 0;
	if (a->known_family == a->update.family && olaf_address_same(a->known_be, addr_be) &&
	    a->now < a->known_until_ns)
		return a->known_own;
	return olaf_target_learn(ctx);
}

/* Looks the MAC address up, for the frames to come as well. Returns whether it is this host's. */
__noinline int olaf_mac_learn(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct olaf_arrival *a = olaf_arrival_here();
	struct ethhdr *eth = data;

	if (!a || (void *)(eth + 1) > end)
		return 0;
	__builtin_memcpy(a->known_mac, eth->h_dest, ETH_ALEN);
	a->known_mac_until_ns = a->now + OLAF_KNOWN_NS;
	a->known_mac_own = olaf_is_mac(eth->h_dest, olaf_cfg.mac) || olaf_is_own_mac(eth->h_dest);
	return a->known_mac_own;
}

/* Is the frame for a MAC address of this host? Nearly always it is the last one's. */
static __always_inline int olaf_mac_is_own(struct xdp_md *ctx, struct olaf_arrival *a,
					   const struct ethhdr *eth)
{
	if (olaf_is_mac(eth->h_dest, a->known_mac) && a->now < a->known_mac_until_ns)
		return a->known_mac_own;
	return olaf_mac_learn(ctx);
}

/* Which way a frame to be forwarded takes: sets a->update.routed. Returns as olaf_is_foreign(). */
static __always_inline int olaf_choose_way(struct xdp_md *ctx, struct olaf_arrival *a)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return 1 + OLAF_BYPASS_OTHER;
	a->update.routed = olaf_mac_is_own(ctx, a, eth);
	if (a->update.routed) {
		/* A router lets nothing on that may travel no further; the stack answers it. */
		if (olaf_hop_limit(data, end, a->update.l3_offset, a->update.family) <= 1 ||
		    olaf_target_is_own(ctx, a))
			return 1 + OLAF_BYPASS_FOREIGN;
		return 0;
	}
	if (!(olaf_cfg.flags & OLAF_CONFIG_BRIDGE) || (eth->h_dest[0] & 1))
		return 1 + OLAF_BYPASS_UNBRIDGED;
	return 0;
}

/* 0 if the update is the queue's, else 1 + enum olaf_bypass. Sets a->update.routed. */
static __always_inline int olaf_is_foreign(struct xdp_md *ctx, struct olaf_arrival *a)
{
	a->update.routed = 0;
	if (olaf_cfg.deliver == OLAF_DELIVER_FORWARD)
		return olaf_choose_way(ctx, a);
	return olaf_target_is_own(ctx, a) ? 0 : 1 + OLAF_BYPASS_FOREIGN;
}

#endif /* OLAF_OURS_BPF_H */
