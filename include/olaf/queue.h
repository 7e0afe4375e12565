/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue's state: every map value that kernel programs and user space share.
 *
 * Integers are in host order unless the name ends in _be; times are nanoseconds of
 * CLOCK_MONOTONIC unless the name says otherwise. A map's writers, and what orders
 * them, are stated where the map is defined (bpf/NAME.bpf.h); here stands only what
 * a value means. Pinned maps outlive programs: a change of any size or meaning in
 * this file raises OLAF_LAYOUT.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_QUEUE_H
#define OLAF_QUEUE_H

#include <linux/types.h>

#include "olaf/counters.h"
#include "olaf/policies.h"
#include "olaf/protocol.h"
#include "olaf/way.h"

#ifndef OLAF_LAYOUT /* the test of upgrades builds an olaf of another */
#define OLAF_LAYOUT 27
#endif

/* L2-L4 headers an update may carry; longer ones (many IPv6 extensions) bypass the queue. */
#define OLAF_MAX_HEADERS 128

/* Largest ring, a power of two, and the slots that never fill it: two entries each, half the places. */
#define OLAF_MAX_PLACES (1 << 19)
#define OLAF_MAX_SLOTS (OLAF_MAX_PLACES / 4)

/* ---- configuration: read-only data of each program, one struct ---------------------- */

/* Where a departing update goes (docs/cli.md). */
enum olaf_deliver {
	OLAF_DELIVER_LOCAL = 0, /* up this host's own stack */
	OLAF_DELIVER_FORWARD = 1, /* out of egress_ifindex, IP addresses untouched */
	OLAF_DELIVER_UPSTREAM = 2, /* to upstream_addr, from this host's own address */
};

#define OLAF_CONFIG_SKB_MODE 0x1 /* generic XDP: what the drain sends up comes by again */
#define OLAF_CONFIG_ALLOW_LIST 0x2 /* only sources in olaf_allow */
#define OLAF_CONFIG_STRICT 0x4 /* only registered workers, each from its own address */
#define OLAF_CONFIG_TAGS_HIDDEN 0x8 /* the device may take VLAN tags off before XDP sees them */
#define OLAF_CONFIG_WINDOW_AUTO 0x10 /* the window finds its own size, at most `window` */
#define OLAF_CONFIG_BRIDGE 0x20 /* FORWARD: frames for other MAC addresses are sent on too */
#define OLAF_CONFIG_VERIFY 0x40 /* updates with a wrong UDP checksum are refused, and what leaves has one */
#define OLAF_CONFIG_OUTPUT_SUMS 0x80 /* the output device finishes checksums that a socket left to it */
/*
 * What goes back out of the device is redirected to it. A veth's peer that has no XDP program is
 * woken for a redirected frame, if it has NAPI, and never for one of XDP_TX.
 */
#define OLAF_CONFIG_BACK_BY_REDIRECT 0x200
#define OLAF_CONFIG_NO_OUTPUT_PROGRAM 0x400 /* attach puts no XDP program on the output: loader/attachment/output.hpp */
#define OLAF_CONFIG_NO_METER 0x100 /* no Age-of-Model: what it costs is measured so */

/*
 * Constant for the life of a program: the verifier sees the values and prunes what
 * they rule out. Set by the loader before load; `olaf attach --replace` loads new
 * programs with a new one. Sizes (max_*, ring_places) must match the maps.
 */
struct olaf_config {
	__u32 layout; /* OLAF_LAYOUT */
	__u32 flags; /* OLAF_CONFIG_* */
	__u32 deliver; /* enum olaf_deliver */
	__u32 ifindex; /* device of the queue */
	__u32 egress_ifindex; /* FORWARD, UPSTREAM: device departures leave by */
	__u32 drain_ifindex; /* end of the drain that tokens are sent into */
	__be16 port_be; /* UDP port of updates */
	__u8 mac[6]; /* own address of ifindex; frames to it are routed, others bridged */
	__u8 drain_mac[6]; /* SKB_MODE: random source of what the drain sends up the stack */
	__u16 frame_overhead; /* bytes that the link adds to a frame, charged to the rate */
	__u32 max_clusters; /* cluster ids 0 ... max_clusters - 1 */
	__u32 max_segments; /* segments 0 ... max_segments - 1 */
	__u32 max_lanes; /* lanes an entry has room for, a multiple of 16 */
	__u32 queue_capacity; /* Qmax: places that may be taken */
	__u32 ring_places; /* places there are: a power of two >= 2 x queue_capacity */
	__u32 default_policy; /* enum olaf_policy, informational: clusters carry their own */
	__u64 ns_per_byte_q24; /* 2^24 x nanoseconds a byte takes at the rate; 0: unlimited */
	__u64 rate_bps; /* the rate asked for, bits/s, informational; 0: unlimited */
	__u64 drain_interval_ns; /* period of the drain, and the least credit */
	__u64 activity_window_ns; /* a cluster is active this long after an update */
	__u64 token_secret; /* random: tells the drain's tokens from any frame of the network's */
	__u32 upstream_family; /* UPSTREAM: 4 or 6 */
	__be16 upstream_port_be;
	__u16 pad;
	__be32 upstream_addr_be[4]; /* IPv4 in [0] */
	__be32 source_addr_be[4]; /* UPSTREAM: this host's address towards it */
	__be32 own4_be; /* an IPv4 address of egress_ifindex, to ask next hops from; 0: it has none */
	__be32 own6_be[4]; /* an IPv6 address of it */
	__u32 round_lines; /* lines of each job (olaf/rounds.h): a power of two, at most OLAF_MAX_LINES */
	__u64 member_timeout_ns; /* a worker that was learnt is forgotten after so long a silence */
	__u32 max_workers; /* places for workers of each cluster: ids 0 ... max_workers - 1 */
	__u32 window; /* departures that may be unacknowledged at once (olaf/window.h); 0: any number */
	__u32 kick_ifindex; /* the drain's other end: what is sent into it isn't delayed */
	__u32 egress_mtu; /* of egress_ifindex when attached; 0: LOCAL, any size */
	__u32 fifo_places; /* entries for fifo: a power of two > queue_capacity; 0: none */
	__u32 round_slots; /* slots for the rounds of jobs (olaf/rounds.h); 0: none, and no jobs */
};
OLAF_SPAN(olaf_config, 0, 24, layout, flags, deliver, ifindex, egress_ifindex, drain_ifindex);
OLAF_SPAN(olaf_config, 24, 44, port_be, mac, drain_mac, frame_overhead, max_clusters);
OLAF_SPAN(olaf_config, 44, 60, max_segments, max_lanes, queue_capacity, ring_places);
OLAF_SPAN(olaf_config, 60, 88, default_policy, ns_per_byte_q24, rate_bps, drain_interval_ns);
OLAF_SPAN(olaf_config, 88, 108, activity_window_ns, token_secret, upstream_family);
OLAF_SPAN(olaf_config, 108, 148, upstream_port_be, pad, upstream_addr_be, source_addr_be, own4_be);
OLAF_SPAN(olaf_config, 148, 184, own6_be, round_lines, member_timeout_ns, max_workers, window);
OLAF_LAST(olaf_config, 184, 200, kick_ifindex, egress_mtu, fifo_places, round_slots);

/* ---- clusters ------------------------------------------------------------------------- */

/* olaf_rules[cluster]: how a cluster's updates are merged. Written by user space only. */
struct olaf_rule {
	__u32 policy; /* enum olaf_policy */
	__u32 max_count; /* 1 ... OLAF_LIMIT_MAX_COUNT: never fold more into one entry */
	__s64 reward_threshold; /* Q47.16; negative: no reward filter */
};
OLAF_LAST(olaf_rule, 0, 16, policy, max_count, reward_threshold);

/* olaf_active[0]: how many clusters sent lately; read it with olaf_active_clusters(). */
struct olaf_active {
	__u32 lock; /* guards the rest, and olaf_active_epochs */
	__u32 current_clusters; /* seen in the epoch that starts at epoch_start_ns */
	__u32 previous_clusters; /* seen in the epoch before it and not yet in this one */
	__u32 pad;
	__u64 epoch_start_ns;
};
OLAF_LAST(olaf_active, 0, 24, lock, current_clusters, previous_clusters, pad, epoch_start_ns);

/* ---- entries, slots, ring --------------------------------------------------------------- */

/* What an entry holds, in host order; its wire form is written when it departs. */
struct olaf_pending {
	__u32 slot; /* cluster x max_segments + segment */
	__u32 cluster;
	__u32 worker; /* newest folded update's */
	__u32 sequence; /* newest's */
	__u32 count; /* sum */
	__u32 model_version; /* minimum */
	__u16 segment;
	__u16 segments;
	__u16 lanes; /* checksum lane included */
	__u16 flags; /* OLAF_FLAG_CHECKSUM and the format: an entry's shape, with lanes */
	__u16 header_bytes; /* L2-L4 bytes of the newest, right-aligned in olaf_entry::headers */
	__u8 l3_offset; /* of the network header in those bytes */
	__u8 l4_offset; /* of the UDP header */
	__u8 family; /* 4 or 6 */
	__u8 routed; /* FORWARD: addressed to our MAC, so we are its router */
	__u8 pad[2];
	__u64 generated_ns; /* CLOCK_TAI, maximum */
	__s64 reward; /* Q47.16, sum mod 2^64 */
	__u64 first_arrived_ns; /* the update that took the place in the ring */
	__u64 arrived_ns; /* newest folded update */
};
OLAF_SPAN(olaf_pending, 0, 26, slot, cluster, worker, sequence, count, model_version, segment);
OLAF_SPAN(olaf_pending, 26, 36, segments, lanes, flags, header_bytes, l3_offset, l4_offset);
OLAF_SPAN(olaf_pending, 36, 64, family, routed, pad, generated_ns, reward, first_arrived_ns);
OLAF_LAST(olaf_pending, 64, 72, arrived_ns);

/*
 * olaf_entries[i]: one waiting update. The first 2 x slots belong to slots (slot and
 * slots + slot: its two buffers), the fifo_places behind them to ring places, for
 * policies that never fold. headers, message and lanes are one contiguous frame without a gap, so
 * that a departure is a single copy; max_lanes is sized at load.
 */
struct olaf_entry {
	struct olaf_pending pending;
	__u8 headers[OLAF_MAX_HEADERS]; /* L2-L4, right-aligned */
	struct olaf_header message; /* wire form */
	__extension__ __u64 lanes[]; /* little-endian on every host */
};
OLAF_SPAN(olaf_entry, 0, 248, pending, headers, message);
OLAF_AT(olaf_entry, 248, lanes);

/* Value size of olaf_entries and olaf_scratch; the slack is what the verifier can't rule out. */
#define OLAF_ENTRY_BYTES(max_lanes) (sizeof(struct olaf_entry) + 8 * (max_lanes) + OLAF_MAX_HEADERS)

/* Of one (cluster, segment). passed_through, updates_passed: atomic, written without the lock. */
struct olaf_slot_counters {
	OLAF_SLOT_COUNTER_LIST(OLAF_COUNTER_FIELD)
};
OLAF_SPAN(olaf_slot_counters, 0, 32, aggregated, appended, replaced, departed_riding);
OLAF_SPAN(olaf_slot_counters, 32, 56, departed_drain, dropped_full, dropped_reward);
OLAF_SPAN(olaf_slot_counters, 56, 80, dropped_sealed, dropped_misfit, updates_departed);
OLAF_SPAN(olaf_slot_counters, 80, 104, updates_superseded, updates_dropped, passed_through);
OLAF_LAST(olaf_slot_counters, 104, 112, updates_passed);

/* What a buffer does; see bpf/slots/slot.bpf.h for who takes it from one to the next. */
enum olaf_buffer_state {
	OLAF_BUFFER_FREE = 0,
	OLAF_BUFFER_OPEN = 1, /* gathers: arrivals may be merged into it */
	OLAF_BUFFER_SEALED = 2, /* waits for its turn as it is */
	OLAF_BUFFER_LEAVING = 3, /* popped: it is being copied out; ended atomically by the departer */
};

/* Buffers of a slot: one may gather while the other one leaves. */
#define OLAF_BUFFERS 2
/* Stands for an entry that belongs to a place of the ring: FREE, or LEAVING. */
#define OLAF_BUFFER_OF_PLACE 2

/* olaf_slots[cluster x max_segments + segment] */
struct olaf_slot {
	__u32 lock; /* guards all but what is said to be atomic */
	__u32 buffers[OLAF_BUFFERS + 1]; /* enum olaf_buffer_state; the last: OLAF_BUFFER_OF_PLACE */
	__u64 position[OLAF_BUFFERS]; /* place in the ring of each; unless FREE */
	struct olaf_slot_counters counters;
};
OLAF_LAST(olaf_slot, 0, 144, lock, buffers, position, counters);

enum olaf_place_state {
	OLAF_PLACE_FREE = 0,
	OLAF_PLACE_WAITING = 1, /* waits for its turn */
	OLAF_PLACE_LEAVING = 2, /* popped; its entry is being copied out */
};

/* One place in departure order. */
struct olaf_place {
	__u32 state; /* enum olaf_place_state */
	__u32 entry; /* index in olaf_entries; this and the rest are valid unless FREE */
	__u32 slot; /* index in olaf_slots of the update's slot */
	__u32 bytes; /* of its frame */
	__u32 hop; /* index in olaf_hops of the hop whose turn it takes; OLAF_NO_HOP: takes none */
	__u32 pad;
	__u64 turn; /* leaves when the hop has served so many: order holds for each next hop */
};
OLAF_LAST(olaf_place, 0, 32, state, entry, slot, bytes, hop, pad, turn);

/* olaf_ring[0]: positions count up for ever; position p is olaf_places[0].place[p % ring_places]. */
struct olaf_ring {
	__u32 lock; /* guards the rest; taken inside a slot's lock, never the other way round */
	__u32 holds; /* arrivals that popped and may still append; given up atomically */
	__u64 head; /* next position to depart */
	__u64 tail; /* next position to take */
	__u64 next_departure_ns; /* the link is free from here on */
	__u64 drain_deadline_ns; /* the token should be back by then; 0: no token */
	__u32 drain_generation; /* of the one live token */
	__u32 drained_alone; /* departures of the token's in a row, with nobody else's between them */
	__u64 drained; /* position behind the last that left with the token */
};
OLAF_SPAN(olaf_ring, 0, 40, lock, holds, head, tail, next_departure_ns, drain_deadline_ns);
OLAF_LAST(olaf_ring, 40, 56, drain_generation, drained_alone, drained);

/* olaf_control[0]: orders from user space to running programs. */
struct olaf_control {
	__u64 emptying_until_ns; /* until then nothing new waits; 0, or past: no order */
	__u64 held_until_ns; /* until then nothing that waits leaves; 0, or past: no order */
	__u64 figures_from_ns; /* ages begin anew with the first departure after it; 0: never reset */
};
OLAF_LAST(olaf_control, 0, 24, emptying_until_ns, held_until_ns, figures_from_ns);

/* ---- counters ------------------------------------------------------------------------ */

enum olaf_malformed { OLAF_MALFORMED_LIST(OLAF_REASON_CONSTANT) OLAF_MALFORMED_REASONS };
enum olaf_not_allowed { OLAF_NOT_ALLOWED_LIST(OLAF_REASON_CONSTANT) OLAF_NOT_ALLOWED_REASONS };
enum olaf_bypass { OLAF_BYPASS_LIST(OLAF_REASON_CONSTANT) OLAF_BYPASS_REASONS };

/* olaf_counters[0], one copy a CPU. Every field is a 64-bit count (olaf/counters.h). */
struct olaf_counters {
	OLAF_COUNTER_LIST(OLAF_COUNTER_FIELD, OLAF_FAMILY_FIELD)
};
OLAF_SPAN(olaf_counters, 0, 232, received, updates_in, bypassed, malformed, not_allowed);
OLAF_SPAN(olaf_counters, 232, 264, tokens_launched, drain_ticks, drain_stale, dropped_contended);
OLAF_SPAN(olaf_counters, 264, 288, updates_contended, departures_unfit, departures_refused);
OLAF_SPAN(olaf_counters, 288, 320, updates_refused, drain_kicks, events_lost, hops_asked);
OLAF_LAST(olaf_counters, 320, 344, gate_probes, drain_proofs, passages_unmetered);

/* Key of the LPM trie olaf_allow: IPv6, or IPv4 mapped into ::ffff:0:0/96. */
struct olaf_prefix {
	__u32 prefix_bits; /* 0 ... 128 */
	__u8 address[16];
};
OLAF_LAST(olaf_prefix, 0, 20, prefix_bits, address);

/* ---- reading ------------------------------------------------------------------------- */

/*
 * Clusters that sent an update in the activity window before now_ns. Exact to one
 * window: counts every cluster of the last window, none of the one before the last.
 */
static inline __u32 olaf_active_clusters(const struct olaf_active *active, __u64 now_ns,
					 __u64 window_ns)
{
	if (now_ns < active->epoch_start_ns + window_ns)
		return active->current_clusters + active->previous_clusters;
	if (now_ns < active->epoch_start_ns + 2 * window_ns)
		return active->current_clusters;
	return 0;
}

#endif /* OLAF_QUEUE_H */
