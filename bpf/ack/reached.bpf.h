/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_reached: where the ACK at hand has gone, so that no address and port gets two
 * copies of it, however many workers are said to be there.
 *
 * A hash table with open addressing; key: a place. Value struct olaf_reached, one copy a
 * CPU. Writer and reader: our TC programs, for the skb they run on, with softirqs off.
 * Nothing is ever cleared: a place that names another ACK is free.
 *
 * The hash is keyed with the queue's secret: else a stranger could choose addresses that
 * fall together, and crowd a worker out.
 */
#ifndef OLAF_REACHED_BPF_H
#define OLAF_REACHED_BPF_H

#include "bpf/ack/ack.bpf.h"
#include "bpf/ack/members.bpf.h"

/* Places looked at. At most half are taken, so that one fails in 2^32 at the worst. */
#define OLAF_REACHED_LOOKS 32

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* olaf_reached_places(max_workers), set by the loader */
	__type(key, __u32);
	__type(value, struct olaf_reached);
} olaf_reached SEC(".maps");

enum olaf_reach {
	OLAF_REACH_FIRST, /* nobody there has got it: now marked */
	OLAF_REACH_AGAIN, /* somebody there has */
	OLAF_REACH_UNKNOWN, /* no place to mark it */
};

/* Finalizer of MurmurHash3: every bit of the word in every bit of the result. */
static __always_inline __u64 olaf_mix(__u64 word)
{
	word = (word ^ word >> 33) * 0xff51afd7ed558ccdULL;
	word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return word ^ word >> 33;
}

static __always_inline __u64 olaf_reach_hash(const struct olaf_member *member)
{
	__u64 hash = olaf_cfg.token_secret;

	hash = olaf_mix(hash ^ ((__u64)member->addr_be[0] << 32 | member->addr_be[1]));
	hash = olaf_mix(hash + ((__u64)member->addr_be[2] << 32 | member->addr_be[3]));
	return olaf_mix(hash + ((__u64)member->family << 16 | member->port_be));
}

/* Does the ACK reach the member's address and port already? Marks them as reached. */
static __always_inline enum olaf_reach olaf_reach(const struct olaf_ack *ack,
						  const struct olaf_member *member)
{
	__u64 hash = olaf_reach_hash(member);
	__u32 mask = olaf_reached_places(olaf_cfg.max_workers) - 1, step = hash >> 32 | 1, i;

	for (i = 0; i < OLAF_REACHED_LOOKS; i++) {
		__u32 key = ((__u32)hash + i * step) & mask;
		struct olaf_reached *place = bpf_map_lookup_elem(&olaf_reached, &key);

		if (!place)
			break;
		if (place->ack != ack->number) {
			place->ack = ack->number;
			__builtin_memcpy(place->addr_be, member->addr_be, sizeof(place->addr_be));
			place->port_be = member->port_be;
			place->family = member->family;
			return OLAF_REACH_FIRST;
		}
		if (place->port_be == member->port_be && place->family == member->family &&
		    olaf_address_same(place->addr_be, member->addr_be))
			return OLAF_REACH_AGAIN;
	}
	return OLAF_REACH_UNKNOWN;
}

#endif /* OLAF_REACHED_BPF_H */
