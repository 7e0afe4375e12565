/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Headers of what departs, written in an entry (or in the staging area): the caller
 * owns it, no lock is held.
 *
 *   local, forward bridged   as they came
 *   forward routed           MACs of the next hop; TTL and its checksum
 *   upstream                 all new: from this host to the upstream address
 *
 * The UDP checksum covers all of these, and is written last (protocol.md).
 */
#ifndef OLAF_HEADERS_BPF_H
#define OLAF_HEADERS_BPF_H

#include <stddef.h>

#include "bpf/packet/compose.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/slots/entry.bpf.h"
#include "bpf/way/wayout.bpf.h"

/*
 * Writes the UDP checksum of a frame whose message and headers are final, `header_bytes` of them: complete;
 * 0, which is none, over IPv4 with --no-verify.
 */
static __always_inline void olaf_udp_finish(struct olaf_entry *entry, __u32 header_bytes,
					    const struct olaf_pending *update)
{
	__u32 l3_offset = olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM ? ETH_HLEN : update->l3_offset;
	__u32 lanes = olaf_clamp(update->lanes, 1, olaf_cfg.max_lanes);
	struct udphdr *udp = (void *)&entry->message - sizeof(*udp);
	__u32 family = olaf_outer_family(update);
	__u64 sum;

	udp->check = 0;
	if (family == 4 && !(olaf_cfg.flags & OLAF_CONFIG_VERIFY))
		return;
	sum = olaf_lanes_sum(entry->lanes, lanes) + olaf_header_sum(&entry->message);
	sum += olaf_partial_checksum(entry, header_bytes, l3_offset, family);
	udp->check = olaf_udp_check(sum + udp->source + udp->dest + udp->len);
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
						 const struct olaf_nexthop *hop)
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
		eth = (void *)ip6 - sizeof(*eth);
		eth->h_proto = bpf_htons(ETH_P_IPV6);
	}
	__builtin_memcpy(eth->h_dest, hop->dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, hop->smac, ETH_ALEN);
	return (void *)&entry->message - (void *)eth;
}

/*
 * Makes the entry's headers those of a departure, but for the UDP checksum. Returns how many
 * bytes they have now; they end where the message begins, as ever. `hop` is used where
 * olaf_needs_hop() says so.
 */
static __always_inline __u32 olaf_headers_renew(struct olaf_entry *entry,
						const struct olaf_pending *update,
						const struct olaf_nexthop *hop)
{
	__u32 header_bytes = update->header_bytes;
	__u32 message_bytes = sizeof(struct olaf_header) + 8 * update->lanes;
	struct ethhdr *eth = olaf_frame_of(entry, header_bytes);
	struct ipv6hdr *ip6 = (void *)eth + (update->l3_offset & (OLAF_MAX_HEADERS - 1));
	struct iphdr *ip4 = (void *)ip6;

	if (olaf_cfg.deliver == OLAF_DELIVER_UPSTREAM)
		return olaf_write_upstream(entry, message_bytes, hop);
	if (olaf_needs_hop(update->routed)) {
		__builtin_memcpy(eth->h_dest, hop->dmac, ETH_ALEN);
		__builtin_memcpy(eth->h_source, hop->smac, ETH_ALEN);
		if (update->family == 4)
			olaf_forward_ipv4(ip4);
		else
			ip6->hop_limit--;
	}
	return header_bytes;
}

#endif /* OLAF_HEADERS_BPF_H */
