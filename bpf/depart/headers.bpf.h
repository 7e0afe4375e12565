/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Headers of what departs, written in an entry (or in the staging area): the caller
 * owns it, no lock is held.
 *
 *   local, forward bridged   as they came; UDP checksum
 *   forward routed           MACs of the next hop; TTL and its checksum; UDP checksum
 *   upstream                 all new: from this host to the upstream address
 *
 * UDP checksum: 0 over IPv4, complete over IPv6 (protocol.md).
 */
#ifndef OLAF_HEADERS_BPF_H
#define OLAF_HEADERS_BPF_H

#include <stddef.h>

#include "bpf/packet/compose.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "bpf/way/wayout.bpf.h"

/* Complete UDP checksum over IPv6 of the entry's frame. */
static __always_inline void olaf_udp6_checksum(struct olaf_entry *entry, struct ipv6hdr *ip,
					       struct udphdr *udp, __u32 lanes)
{
	__u64 sum = olaf_udp6_sum(ip, udp, &entry->message);

	udp->check = olaf_udp_check(sum + olaf_lanes_sum(entry->lanes, lanes));
}

/* Hop limit down by one, as a router does; RFC 1624 for the IPv4 checksum. */
static __always_inline void olaf_forward_ipv4(struct iphdr *ip)
{
	__u32 sum = ip->check + bpf_htons(0x0100);

	ip->check = sum + (sum >= 0xffff);
	ip->ttl--;
}

/* From this host to the upstream server. */
static __always_inline void olaf_upstream_ends(struct olaf_ends *ends)
{
	olaf_address_copy(ends->saddr_be, olaf_cfg.source_addr_be);
	olaf_address_copy(ends->daddr_be, olaf_cfg.upstream_addr_be);
	ends->source_be = olaf_cfg.port_be;
	ends->dest_be = olaf_cfg.upstream_port_be;
}

/* All new headers, from this host to the upstream server. Returns how many bytes they have. */
static __always_inline __u32 olaf_write_upstream(struct olaf_entry *entry, __u32 message_bytes,
						 const struct olaf_nexthop *hop, __u32 lanes)
{
	struct olaf_headers4 *ip4;
	struct olaf_headers6 *ip6;
	struct olaf_ends ends;
	struct ethhdr *eth;

	olaf_upstream_ends(&ends);
	if (olaf_cfg.upstream_family == 4) {
		ip4 = olaf_compose4(&entry->message, message_bytes, &ends);
		eth = (void *)ip4 - sizeof(*eth);
		eth->h_proto = bpf_htons(ETH_P_IP);
	} else {
		ip6 = olaf_compose6(&entry->message, message_bytes, &ends);
		olaf_udp6_checksum(entry, &ip6->ip, &ip6->udp, lanes);
		eth = (void *)ip6 - sizeof(*eth);
		eth->h_proto = bpf_htons(ETH_P_IPV6);
	}
	__builtin_memcpy(eth->h_dest, hop->dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, hop->smac, ETH_ALEN);
	return (void *)&entry->message - (void *)eth;
}

/*
 * Makes the entry's headers those of a departure. Returns how many bytes they have
 * now; they end where the message begins, as ever. The message must be in its final
 * form before. `hop` is used where olaf_needs_hop() says so.
 */
static __always_inline __u32 olaf_headers_finish(struct olaf_entry *entry,
						 const struct olaf_pending *update,
						 const struct olaf_nexthop *hop)
{
	__u32 lanes = olaf_clamp(update->lanes, 1, olaf_cfg.max_lanes);
	__u32 header_bytes = update->header_bytes;
	__u32 message_bytes = sizeof(struct olaf_header) + 8 * lanes;
	struct ethhdr *eth = olaf_frame_of(entry, header_bytes);
	struct ipv6hdr *ip6 = (void *)eth + (update->l3_offset & (OLAF_MAX_HEADERS - 1));
	struct iphdr *ip4 = (void *)ip6;
	struct udphdr *udp = (void *)&entry->message - sizeof(*udp);

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return olaf_write_upstream(entry, message_bytes, hop, lanes);
	if (olaf_needs_hop(update->routed)) {
		__builtin_memcpy(eth->h_dest, hop->dmac, ETH_ALEN);
		__builtin_memcpy(eth->h_source, hop->smac, ETH_ALEN);
		if (update->family == 4)
			olaf_forward_ipv4(ip4);
		else
			ip6->hop_limit--;
	}
	if (update->family == 4)
		udp->check = 0;
	else
		olaf_udp6_checksum(entry, ip6, udp, lanes);
	return header_bytes;
}

#endif /* OLAF_HEADERS_BPF_H */
