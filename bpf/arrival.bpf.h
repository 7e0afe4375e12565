/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The update at hand, which each room hands to the next: what packet/ reads in the frame, what
 * order/ lets it have, where way/ says that it goes.
 *
 * Map olaf_arrivals: key 0, value struct olaf_arrival, one copy a CPU. Writer and reader: the
 * XDP program, or that at a job's parent's device (parent.bpf.c), for the frame it runs on. It is a map, not the stack, so that the verifier sees
 * one state after parsing and not one for each kind of header.
 */
#ifndef OLAF_ARRIVAL_BPF_H
#define OLAF_ARRIVAL_BPF_H

#include <linux/if_ether.h>

#include "bpf/claim.bpf.h"
#include "olaf/events.h"

struct olaf_arrival {
	struct olaf_pending update;
	__u64 now; /* when the program looked at the clock */
	__u32 frame_bytes; /* the whole frame, as it arrived */
	__u32 message_bytes; /* 48 + 8 x lanes */
	struct olaf_claim claim; /* what it has got of the ring */
	__u32 outcome; /* what became of it: OLAF_OUTCOME(kind, detail) of olaf/events.h */
	__u32 hop; /* index in olaf_hops of its next hop; OLAF_NO_HOP: needs none */
	struct olaf_nexthop next; /* of what leaves in this frame: itself, or a departure */
	/* The destination addresses that this CPU last saw, and what they are: they outlive the frame. */
	__u32 known_family; /* 4 or 6; 0: none */
	__u32 known_own; /* it is this host's */
	__be32 known_be[4];
	__u64 known_until_ns;
	__u64 known_mac_until_ns;
	__u8 known_mac[ETH_ALEN];
	__u8 known_mac_own; /* it is this host's */
	__u8 known_mac_pad;
	__u32 beside; /* what is known of it that its bytes don't say: OLAF_BESIDE_* of beside.bpf.h */
	__u32 room; /* bytes of the IP packet from UDP on */
};

#define OLAF_OUTCOME(kind, detail) ((kind) << 8 | (detail))
#define OLAF_OUTCOME_KIND(outcome) ((outcome) >> 8)
#define OLAF_OUTCOME_DETAIL(outcome) ((outcome) & 0xff)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_arrival);
} olaf_arrivals SEC(".maps");

static __always_inline struct olaf_arrival *olaf_arrival_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_arrivals, &zero);
}

#endif /* OLAF_ARRIVAL_BPF_H */
