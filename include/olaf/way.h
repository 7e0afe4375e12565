/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way out, as far as programs know it: next hops, and whether the output takes departures. A
 * part of olaf/queue.h, whose rules hold here.
 */
#ifndef OLAF_WAY_H
#define OLAF_WAY_H

#include "olaf/protocol.h"

enum olaf_hop_state {
	OLAF_HOP_UNKNOWN = 0, /* not looked up */
	OLAF_HOP_RESOLVED = 1, /* addresses are valid */
	OLAF_HOP_NO_NEIGHBOUR = 2, /* routed, but the next hop's MAC isn't known yet */
	OLAF_HOP_NO_ROUTE = 3, /* the FIB refuses */
};

/* Next hops that are remembered, a power of two. */
#define OLAF_HOPS 1024

/* olaf_hops[i]: where departures to one destination go next, as the kernel's FIB says. */
struct olaf_hop {
	__u32 lock; /* guards the rest, but for the turns */
	__u32 state; /* enum olaf_hop_state */
	__u32 family; /* of the destination: 4 or 6; 0: never asked */
	__u8 dmac[6];
	__u8 smac[6];
	__be32 daddr_be[4]; /* destination that this is the hop of; IPv4 in [0] */
	__be32 via_be[4]; /* the next hop's own address: the destination's, or a router's */
	__u32 via_family;
	__u32 egress_ifindex; /* device that it was asked for */
	__u64 looked_up_ns; /* when the FIB was last asked */
	__u64 resolved_ns; /* when it last named an address; 0: never */
	__u64 asked_ns; /* when the next hop was last asked for its address */
	__u64 issued; /* turns given to entries that wait for this hop; under the ring's lock */
	__u64 served; /* turns of those that left; under the ring's lock */
};
OLAF_SPAN(olaf_hop, 0, 60, lock, state, family, dmac, smac, daddr_be, via_be, via_family);
OLAF_LAST(olaf_hop, 60, 104, egress_ifindex, looked_up_ns, resolved_ns, asked_ns, issued, served);

/* olaf_gate[0]: whether the way out takes departures. */
struct olaf_gate {
	__u64 lost_ns; /* when the way out last refused a frame; 0: never */
	__u64 probed_ns; /* when it last took a probe of the drain's */
	__u64 tried_ns; /* when a departure last tried after a refusal */
	__u64 asked_ns; /* when the drain last probed */
	__u64 shut_ns; /* since when it is shut; means something only while lost_ns isn't 0 */
};
OLAF_SPAN(olaf_gate, 0, 32, lost_ns, probed_ns, tried_ns, asked_ns);
OLAF_LAST(olaf_gate, 32, 40, shut_ns);

/* From the first refusal of an XDP frame to the first probe. */
#define OLAF_XDP_GATE_SHORTEST_NS 100000000ULL

/* olaf_xdp_gate[0], one copy a CPU: whether the output takes the frames that XDP sends there. */
struct olaf_xdp_gate {
	__u64 refused_ns; /* when the output last refused a frame of this CPU's; 0: the gate is open */
	__u64 asked_ns; /* when a probe last left by this CPU */
	__u64 wait_ns; /* from a refusal to the next probe */
	__s32 error; /* what the last refusal said: a negative errno */
	__u32 pad;
};
OLAF_LAST(olaf_xdp_gate, 0, 32, refused_ns, asked_ns, wait_ns, error, pad);

#endif /* OLAF_WAY_H */
