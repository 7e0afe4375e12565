// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Age-of-Model of passing traffic, on any host and with any queue or none: `olaf meter`.
 *
 * A socket filter of a packet socket: it sees what the device receives and sends where
 * tcpdump does, keeps none of it (every frame is "filtered out" of the socket), and goes with
 * the process that holds the socket, however that ends.
 *
 * The same parser, the same meter and the same map as the queue's. Nothing waits here: an
 * update arrives and "departs" at the moment it is seen, so its age by arrival is 0 and the
 * sawtooth by arrival is the time since the last update came by.
 */
#include "bpf/age/aom.bpf.h"
#include "bpf/arrival.bpf.h"
#include "bpf/packet/parse.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Room for the headers and the message's header at any offset that the parser may look at. */
#define OLAF_GLANCE 512

/*
 * Map olaf_glance: key 0, one copy a CPU: the start of the frame at hand. A copy, because a
 * frame's first bytes need not lie in one piece. Writer and reader: the program, which runs
 * with softirqs off.
 */
struct olaf_glance {
	__u8 bytes[OLAF_GLANCE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_glance);
} olaf_glances SEC(".maps");

/* Whether frames that the device sends count, and not those it receives. Set before load. */
const volatile __u32 olaf_meter_sent = 0;

/* Frames not looked into: several messages in one, to be cut up later (UDP segmentation). */
__u64 olaf_meter_uncut = 0;

/* linux/if_packet.h; __sk_buff::pkt_type of a frame on its way out */
#define OLAF_PACKET_OUTGOING 4

#define OLAF_LEAST_FRAME                                                             \
	(ETH_HLEN + sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct olaf_header))

/* Meters the update in a->update, seen at `now`. */
static __always_inline void olaf_meter_seen(struct olaf_pending *update, __u64 now)
{
	struct olaf_slot *slot;

	if (update->cluster >= olaf_cfg.max_clusters) {
		olaf_count(not_allowed[OLAF_NOT_ALLOWED_CLUSTER]);
		return;
	}
	if (update->segments > olaf_cfg.max_segments) {
		olaf_count(not_allowed[OLAF_NOT_ALLOWED_SEGMENT]);
		return;
	}
	update->slot = update->cluster * olaf_cfg.max_segments + update->segment;
	update->arrived_ns = now;
	slot = olaf_slot_at(update->slot);
	if (!slot)
		return;
	olaf_count_received(update->count);
	olaf_aom_passed(slot, update, now);
}

static __always_inline void olaf_meter_malformed(__u32 reason)
{
	if (reason < OLAF_MALFORMED_REASONS)
		olaf_count(malformed[reason]);
}

/* Loads the first bytes of the frame. Returns how many, 0 if there are too few. */
static __always_inline __u32 olaf_look(struct __sk_buff *skb, struct olaf_glance *glance)
{
	__u32 bytes = skb->len;

	if (bytes < OLAF_LEAST_FRAME)
		return 0;
	bytes = olaf_clamp(bytes, OLAF_LEAST_FRAME, OLAF_MAX_HEADERS + sizeof(struct olaf_header));
	return bpf_skb_load_bytes(skb, 0, glance->bytes, bytes) ? 0 : bytes;
}

SEC("socket")
int olaf_meter_frame(struct __sk_buff *skb)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_glance *glance;
	__u32 zero = 0, bytes;
	__u64 now;
	int frame;

	glance = bpf_map_lookup_elem(&olaf_glances, &zero);
	if (!a || !glance || (skb->pkt_type == OLAF_PACKET_OUTGOING) != olaf_meter_sent)
		return 0;
	now = bpf_ktime_get_ns();
	bytes = olaf_look(skb, glance);
	if (!bytes)
		return 0;
	frame = olaf_parse_bytes(NULL, glance->bytes, glance->bytes + bytes, skb->len, a);
	if (frame == OLAF_FRAME_ROUND)
		return 0;
	if (frame != OLAF_FRAME_BYPASS && skb->gso_size)
		__sync_fetch_and_add(&olaf_meter_uncut, 1);
	else if (frame == OLAF_FRAME_UPDATE)
		olaf_meter_seen(&a->update, now);
	else if (frame != OLAF_FRAME_BYPASS)
		olaf_meter_malformed(frame - OLAF_FRAME_MALFORMED);
	return 0;
}
