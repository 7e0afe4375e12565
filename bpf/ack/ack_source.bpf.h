/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Does an ACK come from where its cluster's members send to? Anybody can write one; only
 * their server's is stamped, copied, and believed by the window.
 *
 * Any member that was ever heard vouches, not the addressee alone: else a stranger who takes
 * a worker's place before it is heard made that worker's ACKs foreign. Where nobody was
 * heard, but user space registered workers, nothing says which server is theirs, and each
 * will do: registered workers are reached before they are heard.
 *
 * The server's port is that of updates, which olaf_ack_parse() has asked for.
 */
#ifndef OLAF_ACK_SOURCE_BPF_H
#define OLAF_ACK_SOURCE_BPF_H

#include "bpf/ack/ack.bpf.h"
#include "bpf/ack/members.bpf.h"

struct olaf_vouching {
	__u32 cluster;
	__u32 heard; /* somebody was */
	__u32 vouched;
};

/* Does the member, who was heard, send to where the ACK comes from? */
static __always_inline int olaf_member_sends_to(const struct olaf_member *member,
						const struct olaf_ack *ack)
{
	return member->family == ack->family &&
	       olaf_address_same(member->local_addr_be, ack->saddr_be);
}

static long olaf_vouch(__u32 worker, struct olaf_vouching *vouching)
{
	struct olaf_member *place = olaf_member_at(vouching->cluster, worker), member;
	struct olaf_ack *ack = olaf_ack_here();

	if (!ack || !place)
		return 1;
	if (!READ_ONCE(place->family) || !olaf_member_read(place, &member) ||
	    !member.last_seen_ns)
		return 0;
	vouching->heard = 1;
	vouching->vouched = olaf_member_sends_to(&member, ack);
	return vouching->vouched;
}

/*
 * Is the ACK at hand, for that worker of that cluster, from nobody that the cluster sends
 * to? A global function: verified once.
 */
__noinline int olaf_ack_is_foreign(__u32 cluster, __u32 worker)
{
	struct olaf_vouching vouching = { .cluster = cluster };
	__u32 end = olaf_roster_end(cluster);

	/* Nearly always the addressee is the first to be asked, and vouches. */
	olaf_vouch(worker, &vouching);
	if (vouching.vouched)
		return 0;
	bpf_loop(end, olaf_vouch, &vouching, 0);
	return vouching.heard ? !vouching.vouched : !end;
}

#endif /* OLAF_ACK_SOURCE_BPF_H */
