/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the frame at hand says of its sender, and whether that sender may be the member whose id it uses.
 *
 * Anybody can write any source address and any worker id into a frame. So only an address
 * that an ACK may go to is learnt, and a member that lives keeps its place: nobody at
 * another address has it before the member's time is out, and nobody at its own address,
 * with another port or sending to another server, before a short silence. A worker that
 * was restarted has a new port and waits for that silence. An operator who shares a network with
 * strangers registers the workers.
 */
#ifndef OLAF_SENDER_BPF_H
#define OLAF_SENDER_BPF_H

#include "bpf/ack/member.bpf.h"
#include "bpf/arrival.bpf.h"
#include "bpf/packet/own.bpf.h"
#include "bpf/packet/parse.bpf.h"

/* Does the frame say what is known of the member, but for its tags and when it was heard? */
static __always_inline int olaf_sender_is_known(void *data, const void *end,
						const struct olaf_arrival *a,
						const struct olaf_member *member)
{
	return data + ETH_HLEN <= end && olaf_is_mac(data + ETH_ALEN, member->mac) &&
	       olaf_sender_port(data, end, a) == member->port_be &&
	       olaf_sender_is(data, end, a, member->addr_be, member->family) &&
	       olaf_sender_meant(data, end, a, member->local_addr_be, member->family);
}

/* Has the frame the VLAN tags that are known of the member? */
static __always_inline int olaf_sender_is_tagged(void *data, const void *end,
						 const struct olaf_arrival *a,
						 const struct olaf_member *member)
{
	const __u32 *tags = data + 2 * ETH_ALEN, *known = (const __u32 *)member->tag;

	if (a->update.l3_offset != ETH_HLEN + member->tags * sizeof(struct olaf_tag))
		return 0;
	if (!member->tags)
		return 1;
	return (void *)(tags + 2) <= end && tags[0] == known[0] &&
	       (member->tags == 1 || tags[1] == known[1]);
}

/* Nanoseconds that nothing was written of the member when the update at hand came. */
static __always_inline __u64 olaf_member_silence(const struct olaf_arrival *a,
						 const struct olaf_member *member)
{
	/* Unsigned: a time of the future, on a CPU that is behind, reads as long ago. */
	return a->now - READ_ONCE(member->last_seen_ns);
}

/* Does the frame say what is known of the member, and was that confirmed lately? */
static __always_inline int olaf_member_stands(struct xdp_md *ctx, const struct olaf_arrival *a,
					      const struct olaf_member *member)
{
	return olaf_member_silence(a, member) <
		       olaf_member_refresh_ns(olaf_cfg.member_timeout_ns) &&
	       olaf_sender_is_known((void *)(long)ctx->data, (void *)(long)ctx->data_end, a, member);
}

/*
 * Of a member that doesn't stand: writes the time alone, if that alone is old. Returns whether it
 * did; else the whole sender has to be looked at, because something is new or because it is its
 * turn.
 *
 * The sequence is read before the frame is compared with the member, and the member is opened only
 * if it still has that: then nobody has written it meanwhile, and all is as it was compared.
 */
static __always_inline int olaf_member_touch(struct xdp_md *ctx, const struct olaf_arrival *a,
					     struct olaf_member *member)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 refresh_ns = olaf_member_refresh_ns(olaf_cfg.member_timeout_ns);
	__u32 sequence = READ_ONCE(member->sequence);

	olaf_member_barrier(member);
	if (olaf_member_full_is_due(sequence) ||
	    olaf_member_silence(a, member) >= OLAF_MEMBER_FULL_REFRESHES * refresh_ns ||
	    !olaf_sender_is_known(data, end, a, member) ||
	    !olaf_sender_is_tagged(data, end, a, member) ||
	    !olaf_member_open_at(member, sequence))
		return 0;
	member->last_seen_ns = a->now;
	olaf_member_close(member);
	return 1;
}

/* What the frame says of its sender. 0, or negative: it can't be read. */
static __always_inline int olaf_sender_read(struct xdp_md *ctx, const struct olaf_arrival *a,
					    struct olaf_member *sender)
{
	__u32 l3 = a->update.l3_offset;
	__be32 addresses_be[8] = {};
	int i;

	sender->family = a->update.family;
	sender->tags = (l3 - ETH_HLEN) / sizeof(struct olaf_tag);
	sender->last_seen_ns = a->now;
	sender->port_be = olaf_sender_port((void *)(long)ctx->data, (void *)(long)ctx->data_end, a);
	if (bpf_xdp_load_bytes(ctx, ETH_ALEN, sender->mac, ETH_ALEN) ||
	    bpf_xdp_load_bytes(ctx, 2 * ETH_ALEN, sender->tag, sizeof(sender->tag)))
		return -1;
	for (i = 0; i < OLAF_MAX_VLAN_TAGS; i++)
		if (i >= sender->tags)
			sender->tag[i] = (struct olaf_tag){};
	if (sender->family == 4) {
		if (bpf_xdp_load_bytes(ctx, l3 + offsetof(struct iphdr, saddr), addresses_be, 8))
			return -1;
		sender->addr_be[0] = addresses_be[0];
		sender->local_addr_be[0] = addresses_be[1];
		return 0;
	}
	if (bpf_xdp_load_bytes(ctx, l3 + offsetof(struct ipv6hdr, saddr), addresses_be, 32))
		return -1;
	olaf_address_copy(sender->addr_be, addresses_be);
	olaf_address_copy(sender->local_addr_be, addresses_be + 4);
	return 0;
}

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

/* Is the member bound by user space, and to something else than where the sender is? */
static __always_inline int olaf_is_bound_elsewhere(const struct olaf_member *member,
						   const struct olaf_member *sender)
{
	if (!(member->flags & OLAF_MEMBER_REGISTERED))
		return 0;
	return member->family != sender->family ||
	       !olaf_address_same(member->addr_be, sender->addr_be) ||
	       ((member->flags & OLAF_MEMBER_PORT_BOUND) && member->port_be != sender->port_be);
}

/* Is the sender where the member is, at its address and port, and does it send to the same address? */
static __always_inline int olaf_sender_is_there(const struct olaf_member *member,
						const struct olaf_member *sender)
{
	return member->family == sender->family && member->port_be == sender->port_be &&
	       olaf_address_same(member->addr_be, sender->addr_be) &&
	       olaf_address_same(member->local_addr_be, sender->local_addr_be);
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
	if (olaf_is_bound_elsewhere(member, sender))
		return OLAF_CLAIMANT_OTHER;
	if (!same_address) {
		return olaf_member_is_silent(member, now, timeout_ns) ? OLAF_CLAIMANT_NEW :
									OLAF_CLAIMANT_OTHER;
	}
	if ((same_port && olaf_address_same(member->local_addr_be, sender->local_addr_be)) ||
	    olaf_member_is_silent(member, now, olaf_member_hold_ns(timeout_ns)))
		return OLAF_CLAIMANT_KNOWN;
	return OLAF_CLAIMANT_OTHER;
}

#endif /* OLAF_SENDER_BPF_H */
