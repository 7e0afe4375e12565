/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every register of the queue in hardware (docs/hardware.md): one line each. The SystemVerilog
 * package that the RTL is built with, the constants of C++ below, and docs/registers.md are made
 * from these lists, so they can't disagree.
 *
 *   X(NAME, offset, bits, access, meaning)
 *
 *   offset   bytes from the start of the queue's registers. All of them are read and written as
 *            aligned words of 32 bits, little-endian; those of 64 bits have the low word first.
 *   access   ro; rw: read back as written; wo: reads as 0; sn: holds since the last snapshot
 *
 * Counters are those of the kernel (olaf/counters.h), in its order, in the same identities. What
 * a card can't count reads as 0: the list OLAF_CARD_FEATURE_LIST says what it doesn't do.
 *
 * A write may be on its way for a while: through PCI, or to a card that looks for writes now and then,
 * as olaf-card does (hardware/card). So who wants to know what a write did writes a number to FENCE
 * that it doesn't read as, and waits until FENCED reads the same. Then all that was written before has
 * taken effect, and what is read is no older than that. Between two fences a program writes one COMMIT
 * and one SNAPSHOT at most, and takes no notice of how other writes were ordered: all of the
 * configuration and the rules come first, then COMMIT, then SNAPSHOT. One program at a time writes.
 * FENCED that stays as it was for a second says that the card is lost, as all ones do.
 *
 * Compiled as C11 and C++.
 */
#ifndef OLAF_REGISTERS_H
#define OLAF_REGISTERS_H

#include "olaf/queue.h"

/* "OLAF" as the bytes of a little-endian word. */
#define OLAF_CARD_MAGIC 0x46414c4f
/* A change of any offset, size or meaning raises it. */
#define OLAF_CARD_LAYOUT 3
/* Bytes from the first register to behind the last: what a program must be able to map. */
#define OLAF_CARD_WINDOW 0x100000

/* clang-format off */

#define OLAF_REGISTER_LIST(X) \
	X(MAGIC, 0x000, 32, ro, "OLAF_CARD_MAGIC, \"OLAF\". All ones: the card is lost") \
	X(LAYOUT, 0x004, 32, ro, "OLAF_CARD_LAYOUT: what this page describes") \
	X(PLACES, 0x008, 32, ro, "capability: the largest queue_capacity") \
	X(CLUSTERS, 0x00c, 32, ro, "capability: the largest max_clusters") \
	X(SLOTS, 0x010, 32, ro, "capability: the most clusters x segments") \
	X(LANES, 0x014, 32, ro, "capability: the largest max_lanes") \
	X(FEATURES, 0x018, 32, ro, "capability: a bit for each thing that it does") \
	X(NS_PER_CYCLE, 0x01c, 32, ro, "what its clock counts each cycle, ns") \
	X(STATUS, 0x100, 32, ro, "bit 0: ready; 1: it queues; 2: the last commit was refused; 3: nothing waits or is leaving") \
	X(COMMIT, 0x104, 32, wo, "write 1: the registers below take effect in one cycle, all of them, if they are within the capabilities; else none. Pace and active clusters begin anew") \
	X(CONTROL, 0x108, 32, rw, "bit 0: queue updates (else every frame passes uncounted, and what waits leaves); 1: check every update's UDP checksum; 2: take only updates for one of OWN_0 to OWN_3") \
	X(PORT, 0x10c, 32, rw, "UDP port of updates, and of the server's ACKs") \
	X(QUEUE_CAPACITY, 0x110, 32, rw, "Qmax: 1 to PLACES") \
	X(MAX_CLUSTERS, 0x114, 32, rw, "cluster ids 0 to max_clusters - 1") \
	X(MAX_SEGMENTS, 0x118, 32, rw, "segments 0 to max_segments - 1; max_clusters x max_segments is at most SLOTS") \
	X(MAX_LANES, 0x11c, 32, rw, "lanes of an update: 1 to LANES") \
	X(MTU, 0x120, 32, rw, "of the output, bytes of IP; larger updates are refused. 0: any") \
	X(FRAME_OVERHEAD, 0x124, 32, rw, "bytes that the link adds to each frame") \
	X(NS_PER_BYTE_Q24, 0x128, 64, rw, "the rate: 2^24 x ns that a byte takes, 40 bits. An update keeps the rate it arrived under. 0: no rate") \
	X(DRAIN_INTERVAL, 0x130, 32, rw, "ns of credit that an idle link saves, unless a frame takes longer") \
	X(ACTIVITY_WINDOW, 0x134, 64, rw, "ns that a cluster counts as active after an update, 40 bits; at least 1024") \
	X(OWN_0, 0x140, 32, rw, "an IPv4 address, in network order as a little-endian word reads it. 0: none") \
	X(OWN_1, 0x144, 32, rw, "a second one") \
	X(OWN_2, 0x148, 32, rw, "a third one") \
	X(OWN_3, 0x14c, 32, rw, "a fourth one") \
	X(FENCE, 0x150, 32, rw, "a number: FENCED becomes the same when everything written before it has taken effect. Reads from then on are no older") \
	X(FENCED, 0x154, 32, ro, "FENCE, once that is so") \
	X(SNAPSHOT, 0x200, 32, wo, "write 1: everything from TIME up to the counters' end is copied in one cycle") \
	X(SNAPSHOTS, 0x204, 32, ro, "the number of copies so far") \
	X(TIME, 0x208, 64, sn, "the card's clock, ns since its reset") \
	X(QUEUE_LENGTH, 0x210, 32, sn, "messages that wait") \
	X(ACTIVE_CLUSTERS, 0x214, 32, sn, "N: clusters that sent lately") \
	X(UPDATES_WAITING, 0x218, 64, sn, "updates folded into the messages that wait") \
	/* end */

/* Tables: X(NAME, offset, stride, meaning) */
#define OLAF_REGISTER_TABLE_LIST(X) \
	X(COUNTER, 0x400, 8, "64-bit counters, as of the last snapshot") \
	X(RULE, 0x4000, 16, "a cluster's rule: policy, max_count, reward_threshold (64 bits). Writing the last word makes all four take effect at once. After a reset: olaf, 256, -1") \
	X(SLOT_COUNTER, 0x40000, 128, "64-bit counters of slot cluster x max_segments + segment, as of the last snapshot or newer; the low word keeps the high one until it is read") \
	/* end */

/* Bits of FEATURES: X(NAME, there, meaning). `there`: in this RTL. */
#define OLAF_CARD_FEATURE_LIST(X) \
	X(REWARD_FILTER, 1, "rules with a reward threshold") \
	X(RATE, 1, "a rate, by the kernel's pacing") \
	X(ACK_STAMPS, 1, "ACKs are stamped with the queue's state") \
	X(IPV6, 0, "updates and ACKs over IPv6; else they bypass") \
	X(ACK_COPIES, 0, "an ACK for a whole cluster is copied to its workers") \
	X(STRICT, 0, "workers bound to their addresses, and lists of allowed sources") \
	X(WINDOW, 0, "a window of unacknowledged departures") \
	X(JOBS, 0, "synchronous rounds") \
	X(AGE_OF_MODEL, 0, "metering of the Age-of-Model, events") \
	X(ROUTING, 0, "departures with the MAC address of a next hop, or to an upstream server") \
	/* end */

/*
 * The counters of table COUNTER, in order: the fields of struct olaf_slot_counters added up over
 * all slots, the first two of struct olaf_counters and its three families, and the ACKs' that a
 * card without copies has. C(name), and F(family, list): one for each reason of the list.
 */
#define OLAF_CARD_COUNTER_LIST(S, C, F) \
	S(OLAF_SLOT_COUNTER_LIST) \
	C(received) \
	C(updates_in) \
	F(bypassed, OLAF_BYPASS_LIST) \
	F(malformed, OLAF_MALFORMED_LIST) \
	F(not_allowed, OLAF_NOT_ALLOWED_LIST) \
	C(acks_foreign) \
	C(acks_recognised) \
	C(acks_stamped) \
	C(acks_kept) \
	/* end */

/* clang-format on */

#define OLAF_REGISTER_CONSTANT(NAME, offset, ...) OLAF_REGISTER_##NAME = (offset),
#define OLAF_REGISTER_STRIDE(NAME, offset, stride, ...) OLAF_REGISTER_STRIDE_##NAME = (stride),
enum olaf_register {
	OLAF_REGISTER_LIST(OLAF_REGISTER_CONSTANT) OLAF_REGISTER_TABLE_LIST(OLAF_REGISTER_CONSTANT)
};
enum olaf_register_stride { OLAF_REGISTER_TABLE_LIST(OLAF_REGISTER_STRIDE) };

#define OLAF_CARD_FEATURE_CONSTANT(NAME, ...) OLAF_CARD_FEATURE_##NAME,
enum olaf_card_feature { OLAF_CARD_FEATURE_LIST(OLAF_CARD_FEATURE_CONSTANT) };

/* Places in table COUNTER: OLAF_CARD_received; of a family's reason OLAF_CARD_malformed + reason. */
#define OLAF_CARD_SLOT_CONSTANT(field, ...) OLAF_CARD_##field,
#define OLAF_CARD_SLOT_CONSTANTS(list) list(OLAF_CARD_SLOT_CONSTANT)
#define OLAF_CARD_CONSTANT(field) OLAF_CARD_##field,
#define OLAF_CARD_ONE(...) +1
#define OLAF_CARD_FAMILY_CONSTANT(family, list) \
	OLAF_CARD_##family, OLAF_CARD_##family##_last = OLAF_CARD_##family + 0 list(OLAF_CARD_ONE) - 1,
enum olaf_card_counter {
	OLAF_CARD_COUNTER_LIST(OLAF_CARD_SLOT_CONSTANTS, OLAF_CARD_CONSTANT, OLAF_CARD_FAMILY_CONSTANT)
	OLAF_CARD_COUNTERS, /* how many there are */
};

/* Places of a slot's counters in its line of SLOT_COUNTER. */
#define OLAF_CARD_OF_SLOT_CONSTANT(field, ...) OLAF_CARD_SLOT_##field,
enum olaf_card_slot_counter { OLAF_SLOT_COUNTER_LIST(OLAF_CARD_OF_SLOT_CONSTANT) OLAF_CARD_SLOT_COUNTERS };

#endif /* OLAF_REGISTERS_H */
