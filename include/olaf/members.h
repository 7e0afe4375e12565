/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who belongs to a cluster, and how its ACKs reach them.
 *
 * Workers are learnt from the updates that arrive, or registered by user space
 * (`olaf cluster set --worker`). Addresses and ports are big-endian (_be), times
 * nanoseconds of CLOCK_MONOTONIC. A change of size or meaning raises OLAF_LAYOUT.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_MEMBERS_H
#define OLAF_MEMBERS_H

#include <linux/types.h>

#include "olaf/protocol.h"

/* Places for workers of a cluster, unless the table would grow beyond OLAF_USUAL_MEMBERS. */
#define OLAF_DEFAULT_MAX_WORKERS 256

/* Members that a table holds without being asked for more (64 MiB), and at most (1 GiB). */
#define OLAF_USUAL_MEMBERS (1u << 20)
#define OLAF_MOST_MEMBERS (1u << 24)

/* A learnt member is looked at anew this often within its time of silence, and this soon. */
#define OLAF_MEMBER_REFRESHES 8
#define OLAF_MEMBER_REFRESH_NS 250000000ull

/*
 * One refresh of so many looks at the whole sender, and so does one after a silence as long as
 * these. The others write the time alone, if the frame says what is known.
 */
#define OLAF_MEMBER_FULL_REFRESHES 8

/* A member's port is its own until so many refreshes have passed without it. */
#define OLAF_MEMBER_HELD_REFRESHES 4

/* Members that a cluster may gain in a second of 2^OLAF_ADMISSION_SHIFT nanoseconds. */
#define OLAF_MOST_ADMISSIONS 64
#define OLAF_ADMISSION_SHIFT 30

/* struct olaf_member::flags */
#define OLAF_MEMBER_REGISTERED 0x1 /* by user space: bound to its address, never forgotten */
#define OLAF_MEMBER_PORT_BOUND 0x2 /* REGISTERED with a port: bound to that as well */

/* A VLAN tag as it stands in a frame. */
struct olaf_tag {
	__be16 proto_be; /* 802.1Q or 802.1ad */
	__be16 tci_be;
};
OLAF_LAST(olaf_tag, 0, 4, proto_be, tci_be);

/* olaf_members[worker x max_clusters + cluster]; all zero: nobody. */
struct olaf_member {
	__u32 sequence; /* odd: being written. +2 a change; what was read between equal even ones holds */
	__u8 family; /* 4 or 6; 0: nobody */
	__u8 flags; /* OLAF_MEMBER_* */
	__u8 tags; /* how many VLAN tags its updates carry: 0 ... 2 */
	__u8 pad;
	__u64 last_seen_ns; /* of an update of its, late by a refresh at most; 0: never */
	__be32 addr_be[4]; /* IPv4 in [0] */
	__be32 local_addr_be[4]; /* the address that it sends to */
	__u8 mac[6]; /* it, or the router in front of it; valid once seen */
	__be16 port_be; /* 0: not known yet */
	struct olaf_tag tag[2]; /* outermost first */
};
OLAF_SPAN(olaf_member, 0, 32, sequence, family, flags, tags, pad, last_seen_ns, addr_be);
OLAF_LAST(olaf_member, 32, 64, local_addr_be, mac, port_be, tag);

/* olaf_rosters[cluster] */
struct olaf_roster {
	__u32 end; /* one more than the highest worker id that has a place */
	__u32 pad;
	__u64 admitted; /* its newest second << 32 | members that were new in it */
};
OLAF_LAST(olaf_roster, 0, 16, end, pad, admitted);

/*
 * olaf_reached[i], a hash table: an address and port that the ACK at hand reaches. It holds
 * for one ACK: whatever has another `ack` is free.
 */
struct olaf_reached {
	__u64 ack; /* olaf_ack::number */
	__be32 addr_be[4]; /* IPv4 in [0] */
	__be16 port_be;
	__u8 family; /* 4 or 6 */
	__u8 pad[5];
};
OLAF_LAST(olaf_reached, 0, 32, ack, addr_be, port_be, family, pad);

/* What user space asks of the program olaf_enrol, its context. */
enum olaf_enrolment {
	OLAF_ENROL_REGISTER = 1, /* worker of cluster, at addr_be and, unless 0, port_be */
	OLAF_ENROL_FORGET = 2, /* every member of cluster */
};

struct olaf_registration {
	__u32 enrolment; /* enum olaf_enrolment */
	__u32 cluster;
	__u32 worker;
	__u32 family; /* 4 or 6 */
	__be32 addr_be[4]; /* IPv4 in [0] */
	__be16 port_be; /* 0: any */
	__u16 pad;
};
OLAF_LAST(olaf_registration, 0, 36, enrolment, cluster, worker, family, addr_be, port_be, pad);

/*
 * The places of one worker id lie together: most clusters have few workers, so what every
 * update looks at is on few pages.
 */
static inline __u32 olaf_member_index(__u32 cluster, __u32 worker, __u32 max_clusters)
{
	return worker * max_clusters + cluster;
}

/* How late `last_seen_ns` may be. */
static inline __u64 olaf_member_refresh_ns(__u64 timeout_ns)
{
	__u64 refresh_ns = timeout_ns / OLAF_MEMBER_REFRESHES;

	return refresh_ns < OLAF_MEMBER_REFRESH_NS ? refresh_ns : OLAF_MEMBER_REFRESH_NS;
}

/* Is the next refresh of a member with this sequence a full one? A change raises it by 2. */
static inline int olaf_member_full_is_due(__u32 sequence)
{
	return sequence / 2 % OLAF_MEMBER_FULL_REFRESHES == 0;
}

/* How long a silence frees the port of a member for another one at its address. */
static inline __u64 olaf_member_hold_ns(__u64 timeout_ns)
{
	return OLAF_MEMBER_HELD_REFRESHES * olaf_member_refresh_ns(timeout_ns);
}

/* Was nothing heard of the member for so long? */
static inline int olaf_member_is_silent(const struct olaf_member *member, __u64 now_ns,
					__u64 silence_ns)
{
	/* A CPU that was slow to look at the clock may be behind the one that saw it last. */
	return now_ns > member->last_seen_ns && now_ns - member->last_seen_ns >= silence_ns;
}

/* Places of olaf_reached, a power of two: at most half of them are ever taken. */
static inline __u32 olaf_reached_places(__u32 max_workers)
{
	__u32 last = 2 * max_workers - 1;

	last |= last >> 1;
	last |= last >> 2;
	last |= last >> 4;
	last |= last >> 8;
	last |= last >> 16;
	return last + 1;
}

/*
 * Can ACKs reach the member now? A registered one as soon as its port is known (its
 * MAC address may yet have to be found), a learnt one for `timeout_ns` after an update.
 */
static inline int olaf_member_is_live(const struct olaf_member *member, __u64 now_ns,
				      __u64 timeout_ns)
{
	if (!member->family || !member->port_be)
		return 0;
	if (member->flags & OLAF_MEMBER_REGISTERED)
		return 1;
	return !olaf_member_is_silent(member, now_ns, timeout_ns);
}

#endif /* OLAF_MEMBERS_H */
