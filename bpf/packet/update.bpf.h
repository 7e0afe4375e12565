/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a frame to an update: UDP to our port, protocol version 1, and the fields of an UPDATE.
 *
 * What isn't a message of ours is none of our business (bypass); what is, but breaks the
 * protocol, is malformed.
 */
#ifndef OLAF_UPDATE_BPF_H
#define OLAF_UPDATE_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/packet/packet.bpf.h"

static __always_inline int olaf_malformed(enum olaf_malformed reason)
{
	return OLAF_FRAME_MALFORMED + reason;
}

/* Checks an UPDATE's own fields and takes them over, in host order. */
static __always_inline int olaf_parse_update(const struct olaf_header *header,
					     struct olaf_pending *update)
{
	__u16 flags = bpf_ntohs(header->flags_be);
	__u32 format = (flags & OLAF_FLAG_FORMAT_MASK) >> OLAF_FLAG_FORMAT_SHIFT;

	update->lanes = bpf_ntohs(header->lanes_be);
	update->flags = flags & (OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK);
	update->cluster = bpf_ntohl(header->cluster_be);
	update->worker = bpf_ntohl(header->worker_be);
	update->sequence = bpf_ntohl(header->sequence_be);
	update->count = bpf_ntohl(header->count_be);
	update->generated_ns = bpf_be64_to_cpu(header->generated_ns_be);
	update->reward = bpf_be64_to_cpu(header->reward_be);
	update->model_version = bpf_ntohl(header->model_version_be);
	update->segment = bpf_ntohs(header->segment_be);
	update->segments = bpf_ntohs(header->segments_be);

	if (update->lanes < (flags & OLAF_FLAG_CHECKSUM ? 2 : 1))
		return olaf_malformed(OLAF_MALFORMED_LANES);
	if (format > OLAF_FORMAT_I64X1)
		return olaf_malformed(OLAF_MALFORMED_FORMAT);
	if (!update->count)
		return olaf_malformed(OLAF_MALFORMED_COUNT);
	if (update->segment >= update->segments)
		return olaf_malformed(OLAF_MALFORMED_SEGMENT);
	return OLAF_FRAME_UPDATE;
}

/*
 * Ethernet and IP: *offset ends at UDP, *room is how many bytes the IP packet has from there.
 * Returns 0 or OLAF_FRAME_BYPASS.
 */
static __always_inline int olaf_parse_network(void *data, void *end, struct olaf_arrival *a,
					      __u32 *offset, __u32 *room)
{
	__be16 eth_proto_be = olaf_parse_ethernet(data, end, offset);

	a->update.l3_offset = *offset;
	if (eth_proto_be == bpf_htons(ETH_P_IP)) {
		a->update.family = 4;
		return olaf_parse_ipv4(data, end, offset, room);
	}
	if (eth_proto_be == bpf_htons(ETH_P_IPV6)) {
		a->update.family = 6;
		return olaf_parse_ipv6(data, end, offset, room);
	}
	return OLAF_FRAME_BYPASS;
}

/*
 * Do the lengths of UDP, IP and the frame agree with the message's, and is what protects them
 * right? UDP is at `offset`, and header and message are within data ... end. Fills *a's lengths.
 * Returns OLAF_FRAME_UPDATE, or malformed.
 */
static __always_inline int olaf_check_lengths(struct xdp_md *ctx, void *data, void *end, __u32 whole,
					      struct olaf_arrival *a, __u32 offset)
{
	struct udphdr *udp = olaf_at(data, offset);
	struct olaf_header *header = (void *)(udp + 1);
	__u32 udp_bytes, frame_bytes;

	if ((void *)(header + 1) > end)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	udp_bytes = bpf_ntohs(udp->len);
	if (udp_bytes != sizeof(*udp) + sizeof(*header) + 8 * bpf_ntohs(header->lanes_be))
		return olaf_malformed(OLAF_MALFORMED_LENGTH);

	a->update.header_bytes = offset + sizeof(*udp);
	a->message_bytes = udp_bytes - sizeof(*udp);
	frame_bytes = end - data;
	if (frame_bytes < offset + udp_bytes)
		frame_bytes = ctx ? bpf_xdp_get_buff_len(ctx) : whole; /* the rest: in fragments */
	a->frame_bytes = frame_bytes;
	if (a->room < udp_bytes || frame_bytes < offset + udp_bytes)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	/* Bytes behind UDP would be missing from a departure, whose IP header counts them. */
	if (a->room != udp_bytes)
		return olaf_malformed(OLAF_MALFORMED_LENGTH);
	if (a->update.family == 4 &&
	    olaf_ipv4_checksum(data, end, a->update.l3_offset, offset - a->update.l3_offset))
		return olaf_malformed(OLAF_MALFORMED_IP_CHECKSUM);
	if (a->update.family == 6 && !udp->check)
		return olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
	return OLAF_FRAME_UPDATE;
}

/* Of a message of ours of version 1 that is no UPDATE: what it is, by its type. */
static __always_inline int olaf_frame_of_other(__u8 type)
{
	if (type == OLAF_CONTRIBUTION || type == OLAF_RESULT ||
	    (type == OLAF_CONTROL && olaf_cfg.round_slots))
		return OLAF_FRAME_ROUND;
	return type == OLAF_ACK || type == OLAF_CONTROL ? OLAF_FRAME_BYPASS :
							  olaf_malformed(OLAF_MALFORMED_TYPE);
}

/*
 * Parses the frame that begins with data ... end into *a. Its length is `whole`, or with a
 * ctx the frame's own: that is only asked for if what is at hand isn't all. Returns enum
 * olaf_frame; *a is complete only for an update.
 */
static __always_inline int olaf_parse_bytes(struct xdp_md *ctx, void *data, void *end, __u32 whole,
					    struct olaf_arrival *a)
{
	struct olaf_header *header;
	struct udphdr *udp;
	__u32 offset = 0, room = 0;
	int frame;

	if (olaf_parse_network(data, end, a, &offset, &room) ||
	    offset > OLAF_MAX_HEADERS - sizeof(*udp))
		return OLAF_FRAME_BYPASS;

	udp = olaf_at(data, offset);
	header = (void *)(udp + 1);
	if ((void *)&header->version > end || udp->dest != olaf_cfg.port_be ||
	    header->magic_be != bpf_htons(OLAF_MAGIC))
		return OLAF_FRAME_BYPASS;

	/* From here on it is a message of ours. */
	if (bpf_ntohs(udp->len) < sizeof(*udp) + sizeof(*header))
		return olaf_malformed(OLAF_MALFORMED_LENGTH);
	if ((void *)(header + 1) > end)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	if (header->version != OLAF_VERSION)
		return olaf_malformed(OLAF_MALFORMED_VERSION);
	a->update.l4_offset = offset;
	a->room = room;
	if (header->type != OLAF_UPDATE)
		return olaf_frame_of_other(header->type);
	frame = olaf_check_lengths(ctx, data, end, whole, a, offset);
	return frame == OLAF_FRAME_UPDATE ? olaf_parse_update(header, &a->update) : frame;
}

static __always_inline int olaf_parse(struct xdp_md *ctx, struct olaf_arrival *a)
{
	return olaf_parse_bytes(ctx, (void *)(long)ctx->data, (void *)(long)ctx->data_end, 0, a);
}

#endif /* OLAF_UPDATE_BPF_H */
