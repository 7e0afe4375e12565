/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a departure is handed from room to room: its place in the order, and its way out. */
#ifndef OLAF_CLAIM_BPF_H
#define OLAF_CLAIM_BPF_H

#include "bpf/config.bpf.h"

/* What an arrival, or a tick of the drain, has got of the ring. */
enum olaf_got {
	OLAF_GOT_PASSAGE = 0x1, /* nothing waits and the link is free: leave as you are */
	OLAF_GOT_DEPARTURE = 0x2, /* the head was popped: it leaves now */
	OLAF_GOT_TOKEN = 0x4, /* launch a token of this generation */
	OLAF_GOT_WAY_ON = 0x8, /* the queue is being emptied, and the frame can leave as it is */
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

#endif /* OLAF_CLAIM_BPF_H */
