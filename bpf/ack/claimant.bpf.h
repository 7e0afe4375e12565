/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who may be a member: where the sender of an update is, against what is known.
 *
 * Anybody can write any source address and any worker id into a frame. So only an address
 * that an ACK may go to is learnt, and a member that lives keeps its place: nobody at
 * another address has it before the member's time is out, and nobody at its own address,
 * with another port or sending to another server, before a short silence. A worker that
 * was restarted has a new port and waits for that silence. Who shares a network with
 * strangers registers its workers.
 */
#ifndef OLAF_CLAIMANT_BPF_H
#define OLAF_CLAIMANT_BPF_H

#include "bpf/ack/member.bpf.h"
#include "bpf/packet/own.bpf.h"

/* The sender of an update, to the member whose worker id it uses. */
enum olaf_claimant {
	OLAF_CLAIMANT_KNOWN, /* the member, or the one who may follow it at its address */
	OLAF_CLAIMANT_NEW, /* nobody lives there */
	OLAF_CLAIMANT_OTHER, /* somebody else does */
};

/* Is it neither of this network, loopback, multicast nor the broadcast address? */
static __always_inline int olaf_is_unicast4(__be32 addr_be)
{
	__u32 addr = bpf_ntohl(addr_be), net = addr >> 24;

	return net != 0 && net != 127 && (net & 0xf0) != 0xe0 && addr != 0xffffffff;
}

/* Is it neither unspecified, loopback nor multicast? */
static __always_inline int olaf_is_unicast6(const __be32 addr_be[4])
{
	return (addr_be[0] & bpf_htonl(0xff000000)) != bpf_htonl(0xff000000) &&
	       (addr_be[0] || addr_be[1] || addr_be[2] || bpf_ntohl(addr_be[3]) > 1);
}

/* Is the sender at this host's own address? The one that it sends to may not be in the map yet. */
static __always_inline int olaf_sender_is_us(const struct olaf_member *sender)
{
	struct olaf_own_address mapped;

	olaf_map_address(mapped.words_be, sender->addr_be, sender->family);
	return olaf_is_own_address(mapped.words_be) ||
	       olaf_address_same(sender->addr_be, sender->local_addr_be);
}

/* May an ACK go to where the sender says it is? */
static __always_inline int olaf_sender_is_reachable(const struct olaf_member *sender)
{
	if (!sender->port_be || (sender->mac[0] & 1) || olaf_sender_is_us(sender))
		return 0;
	return sender->family == 4 ? olaf_is_unicast4(sender->addr_be[0]) :
				     olaf_is_unicast6(sender->addr_be);
}

/* The sender was seen just now. A hint, unless the member is open. */
static __always_inline enum olaf_claimant olaf_claimant(const struct olaf_member *member,
							const struct olaf_member *sender)
{
	__u64 now = sender->last_seen_ns, timeout_ns = olaf_cfg.member_timeout_ns;
	int same_address = member->family == sender->family &&
			   olaf_address_same(member->addr_be, sender->addr_be);
	int same_port = member->port_be == sender->port_be;

	if (!member->family)
		return OLAF_CLAIMANT_NEW;
	if (member->flags & OLAF_MEMBER_REGISTERED) {
		if (!same_address || ((member->flags & OLAF_MEMBER_PORT_BOUND) && !same_port))
			return OLAF_CLAIMANT_OTHER;
	} else if (!same_address) {
		return olaf_member_is_silent(member, now, timeout_ns) ? OLAF_CLAIMANT_NEW :
									OLAF_CLAIMANT_OTHER;
	}
	if ((same_port && olaf_address_same(member->local_addr_be, sender->local_addr_be)) ||
	    olaf_member_is_silent(member, now, olaf_member_hold_ns(timeout_ns)))
		return OLAF_CLAIMANT_KNOWN;
	return OLAF_CLAIMANT_OTHER;
}

#endif /* OLAF_CLAIMANT_BPF_H */
