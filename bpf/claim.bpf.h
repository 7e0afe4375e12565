/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What one folder of bpf/ hands to the next: the update at hand (what packet/ reads in the frame, what
 * order/ lets it have, where way/ says that it goes), and a departure (its place in the order, its way out).
 */
#ifndef OLAF_CLAIM_BPF_H
#define OLAF_CLAIM_BPF_H

#include <linux/if_ether.h>

#include "bpf/config.bpf.h"
#include "olaf/events.h"

/* What an arrival, or a tick of the drain, has got of the ring. */
enum olaf_got {
	OLAF_GOT_PASSAGE = 0x1, /* nothing waits and the link is free: leave as you are */
	OLAF_GOT_DEPARTURE = 0x2, /* the head was popped: it leaves now */
	OLAF_GOT_TOKEN = 0x4, /* launch a token of this generation */
	OLAF_GOT_WAY_ON = 0x8, /* the queue is being emptied, and the frame can leave as it is */
	OLAF_GOT_PROBE = 0x10, /* once it holds nothing the frame may ask the output: gate.bpf.h */
};

/* What the frame at hand, or a tick of the drain, has got. */
struct olaf_claim {
	__u32 got; /* enum olaf_got */
	__u32 entry; /* DEPARTURE: its entry */
	__u32 slot; /* DEPARTURE: its slot */
	__u32 generation; /* TOKEN */
	__u64 position; /* DEPARTURE: its place */
};

/* Where a departure goes next: a copy of what a hop says. */
struct olaf_nexthop {
	__u32 state; /* enum olaf_hop_state */
	__u32 stale; /* the next hop should be asked for its address again */
	__be32 via_be[4]; /* the next hop's own IP address */
	__u32 via_family; /* 4 or 6; not always the destination's */
	__u8 dmac[6];
	__u8 smac[6];
};

/* The destination of a departure, and where its hop lies. */
struct olaf_destination {
	__be32 addr_be[4]; /* IPv4 in [0] */
	__u32 family; /* 4 or 6 */
	__u32 index; /* key of olaf_hops */
};

/* Is the UDP checksum of the update at hand right? */
enum olaf_integrity {
	OLAF_UNVERIFIED = 0, /* the checksum has not been looked at yet */
	OLAF_INTACT = 1, /* the checksum is right, or there is none to look at */
	OLAF_DAMAGED = 2, /* the checksum is wrong: the update is used for nothing */
};

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
	__u32 integrity; /* enum olaf_integrity */
	__u64 sum; /* of what its UDP checksum covers besides the lanes: olaf_sum_headers() */
};

#define OLAF_OUTCOME(kind, detail) ((kind) << 8 | (detail))
#define OLAF_OUTCOME_KIND(outcome) ((outcome) >> 8)
#define OLAF_OUTCOME_DETAIL(outcome) ((outcome) & 0xff)

#endif /* OLAF_CLAIM_BPF_H */
