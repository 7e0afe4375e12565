/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the frame at hand says of its sender. */
#ifndef OLAF_SENDER_BPF_H
#define OLAF_SENDER_BPF_H

#include "bpf/ack/member.bpf.h"
#include "bpf/arrival.bpf.h"
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

#endif /* OLAF_SENDER_BPF_H */
