/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that a node writes, and the headers around them: a RESULT for a child, an answer to a CONTROL
 * message, an aggregate for the parent. olaf_round_head() and olaf_round_say() write the message in the
 * staging area, olaf_round_dress() puts Ethernet, IP and UDP around it, for the way to a child, to the
 * parent or to all members. Lanes are copied from their buffer.
 *
 * Map olaf_round_lanes: key slot + 0 or 1 x round_slots, value the lanes of that buffer of the slot, as they
 * lie in a frame, but for floats that are being added (OLAF_ROUND_LANES_BYTES, olaf/floats.h). First buffers
 * lie together and second ones behind them: a round runs through one kind, and the memory through its pages.
 * Writers and readers: XDP and TC programs, under the lock of the slot.
 */
#ifndef OLAF_ROUND_HEADERS_BPF_H
#define OLAF_ROUND_HEADERS_BPF_H

#include "bpf/ack/member.bpf.h"
#include "bpf/packet/compose.bpf.h"
#include "bpf/packet/lanes.bpf.h"
#include "bpf/packet/staging.bpf.h"
#include "bpf/rounds/deliveries.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OLAF_ROUND_BUFFERS); /* 2 x round_slots, set by the loader */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_ROUND_LANES_BYTES(OLAF_MAX_LANES)); /* by max_lanes */
} olaf_round_lanes SEC(".maps");

/* The lanes of a buffer. */
static __always_inline __u64 *olaf_round_lanes_at(__u32 buffer_index)
{
	__u32 index = buffer_index % OLAF_ROUND_BUFFERS * olaf_cfg.round_slots +
		      buffer_index / OLAF_ROUND_BUFFERS;

	return bpf_map_lookup_elem(&olaf_round_lanes, &index);
}

/* The way of a frame that a node writes. */
struct olaf_round_way {
	struct olaf_ends ends;
	__u32 family; /* 4 or 6 */
	__u32 tags; /* 0 ... 2 */
	struct olaf_tag tag[2]; /* outermost first */
	__u8 dmac[ETH_ALEN];
	__u8 smac[ETH_ALEN];
	__u16 hops; /* TTL or hop limit; 0: OLAF_HOP_LIMIT */
	__u16 pad;
};

/* The part of a header that doesn't come from a buffer. */
static __always_inline void olaf_round_head(struct olaf_header *header, __u32 type, __u32 flags,
					    __u32 lanes, __u32 job, __u32 rank)
{
	header->magic_be = bpf_htons(OLAF_MAGIC);
	header->version = OLAF_ROUNDS_VERSION;
	header->type = type;
	header->flags_be = bpf_htons(flags);
	header->lanes_be = bpf_htons(lanes);
	header->cluster_be = bpf_htonl(job);
	header->worker_be = bpf_htonl(rank & 0xffff);
	header->check = 0;
}

/* Answers but WAIT tell what the job's contributions are like. */
static __always_inline void olaf_tell_shape(struct olaf_header *header, const struct olaf_job *job)
{
	header->job_lanes_be = bpf_htons(job->setup.lanes);
	header->job_shape_be = bpf_htons(job->setup.shape);
}

/* The header of a RESULT for `rank`. */
static __always_inline void olaf_result_head(struct olaf_header *header, const struct olaf_job *job,
					     __u32 rank, __u32 flags, __u32 lanes, __u32 generation)
{
	olaf_round_head(header, OLAF_RESULT, flags | job->setup.shape, lanes, job->setup.id, rank);
	header->generation_be = bpf_htonl(generation);
	header->pool = READ_ONCE(job->pool);
}

/* The part that does. */
static __always_inline void olaf_round_say(struct olaf_header *header,
					   const struct olaf_round_buffer *buffer)
{
	header->workers_be = bpf_htons(buffer->vector >> 16);
	header->sequence_be = bpf_htonl(buffer->round);
	header->content_be = bpf_htons(buffer->vector);
	header->added_be = bpf_htons(buffer->count);
	header->generated_ns_be = bpf_cpu_to_be64(buffer->generated_ns);
	header->chunk_be = bpf_htonl(buffer->chunk);
	header->chunks_be = bpf_htonl(buffer->chunks);
	header->exponent_be = bpf_htons(buffer->exponent);
}

/* Does a UDP checksum protect the job's lanes? Where they have no checksum lane, and over IPv6. */
static __always_inline int olaf_udp_protects(const struct olaf_job *job, __u32 family)
{
	return family == 6 || !(job->setup.shape & OLAF_FLAG_CHECKSUM);
}

/* From the node's address that the member sends to, back to it. */
static __always_inline void olaf_round_way_to(struct olaf_round_way *way,
					      const struct olaf_member *member)
{
	int i;

	olaf_address_copy(way->ends.saddr_be, member->local_addr_be);
	olaf_address_copy(way->ends.daddr_be, member->addr_be);
	way->ends.source_be = olaf_cfg.port_be;
	way->ends.dest_be = member->port_be;
	way->family = member->family;
	way->tags = member->tags;
	way->tag[0] = member->tag[0];
	way->tag[1] = member->tag[1];
	for (i = 0; i < ETH_ALEN; i++) {
		way->dmac[i] = member->mac[i];
		way->smac[i] = olaf_cfg.mac[i];
	}
}

/* The way to a child. Returns whether there is one. */
static __always_inline int olaf_child_way(__u32 job, __u32 rank, struct olaf_round_way *way)
{
	struct olaf_child *child = olaf_child_at(job, rank);
	struct olaf_member member;

	if (!child || !olaf_member_read(&child->member, &member) || !member.last_seen_ns ||
	    !member.family || !member.port_be)
		return 0;
	olaf_round_way_to(way, &member);
	return 1;
}

/* Ethernet and tags before the IP header at `ip`. Returns bytes of all headers before the message. */
static __always_inline __u32 olaf_round_dress_link(struct olaf_entry *staged, __u32 ip_bytes,
						   const struct olaf_round_way *way)
{
	__u32 tags = way->tags > 2 ? 2 : way->tags;
	__u32 bytes = olaf_clamp(ETH_HLEN + 4 * tags + ip_bytes, ETH_HLEN, OLAF_MAX_HEADERS);
	__be16 *to = olaf_frame_of(staged, bytes), *tagged;

	__builtin_memcpy(to, way->dmac, ETH_ALEN);
	__builtin_memcpy(to + 3, way->smac, ETH_ALEN);
	tagged = to + 6;
	if (tags > 0) {
		tagged[0] = way->tag[0].proto_be;
		tagged[1] = way->tag[0].tci_be;
		tagged += 2;
	}
	if (tags > 1) {
		tagged[0] = way->tag[1].proto_be;
		tagged[1] = way->tag[1].tci_be;
		tagged += 2;
	}
	*tagged = way->family == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	return bytes;
}

/* The staged frame travels so far. UDP's checksum doesn't know of it, IPv4's does (RFC 1624). */
static __always_inline void olaf_limit_hops(struct olaf_entry *staged, __u32 family, __u32 hops)
{
	struct olaf_headers4 *h4 = (void *)&staged->message - sizeof(*h4);
	struct olaf_headers6 *h6 = (void *)&staged->message - sizeof(*h6);
	__u64 sum;

	if (family == 6) {
		h6->ip.hop_limit = hops;
		return;
	}
	sum = (__u16)~h4->ip.check;
	sum += (__u16)~bpf_htons(OLAF_HOP_LIMIT << 8);
	sum += bpf_htons(hops << 8);
	h4->ip.ttl = hops;
	h4->ip.check = olaf_checksum_fold(sum);
}

/*
 * The staged message and the IP and UDP headers before it are complete but for its check and for UDP's
 * checksum, which is 0; `lanes_sum` is what the lanes add up to. A global function: its registers would lie
 * on the stack of whoever writes a frame.
 */
__noinline int olaf_round_seal(__u32 family, __u64 lanes_sum)
{
	struct olaf_entry *staged = olaf_staging();
	struct olaf_header *header;
	struct olaf_headers4 *h4;
	struct olaf_headers6 *h6;

	if (!staged)
		return 0;
	header = &staged->message;
	header->check = 0;
	header->check = olaf_header_parity((const __u64 *)header);
	h4 = (void *)header - sizeof(*h4);
	h6 = (void *)header - sizeof(*h6);
	if (family == 6)
		h6->udp.check = olaf_udp_check(olaf_udp6_sum(&h6->ip, &h6->udp, header) + lanes_sum);
	else if (header->lanes_be && !(header->flags_be & bpf_htons(OLAF_FLAG_CHECKSUM)))
		h4->udp.check = olaf_udp_check(olaf_udp4_sum(&h4->ip, &h4->udp, header) + lanes_sum);
	return 0;
}

/*
 * All headers around the staged message, which has so many lanes that add up to `lanes_sum`.
 * Returns how many bytes they have before the message.
 */
static __always_inline __u32 olaf_round_dress(struct olaf_entry *staged, __u32 lanes,
					      __u64 lanes_sum, const struct olaf_round_way *way)
{
	__u32 message_bytes = sizeof(struct olaf_header) + 8 * lanes;

	if (way->family == 4)
		olaf_compose4(&staged->message, message_bytes, &way->ends);
	else
		olaf_compose6(&staged->message, message_bytes, &way->ends);
	olaf_round_seal(way->family, lanes_sum);
	if (way->hops)
		olaf_limit_hops(staged, way->family, way->hops);
	return olaf_round_dress_link(staged,
				     way->family == 4 ? sizeof(struct olaf_headers4) :
							sizeof(struct olaf_headers6),
				     way);
}

/* Writes a word of a header; *words is the XOR of all even ones, or of all odd ones, so far. */
static __always_inline void olaf_word_put(struct olaf_header *header, __u32 i, __u64 word, __u64 *words)
{
	((__u64 *)header)[i] = word;
	*words ^= word;
}

/*
 * The header of the buffer's result for `rank`, or OLAF_EVERY_WORKER: LATE if nothing of its own is in it.
 * Under its slot's lock. Word by word, so that the check is that of values in registers: loads of fields
 * that were just written would wait for the stores.
 */
static __always_inline void olaf_result_say(struct olaf_header *header, const struct olaf_job *job,
					    __u32 rank, const struct olaf_round_buffer *buffer,
					    __u32 lanes)
{
	__u32 flags = (buffer->flags & ~OLAF_FLAG_SPOILT) | job->setup.shape;
	__u32 vector = buffer->vector;
	__u64 even = 0, odd = 0;

	if (rank != OLAF_EVERY_WORKER && !olaf_ranks_has(&buffer->in, rank))
		flags |= OLAF_FLAG_LATE;
	olaf_word_put(header, 0,
		      bpf_htons(OLAF_MAGIC) | OLAF_ROUNDS_VERSION << 16 | OLAF_RESULT << 24 |
			      (__u64)bpf_htons(flags) << 32 | (__u64)bpf_htons(lanes) << 48,
		      &even);
	olaf_word_put(header, 1,
		      bpf_htonl(job->setup.id) | (__u64)bpf_htons(vector >> 16) << 32 |
			      (__u64)bpf_htons(rank) << 48,
		      &odd);
	olaf_word_put(header, 2,
		      bpf_htonl(buffer->round) | (__u64)bpf_htons(vector) << 32 |
			      (__u64)bpf_htons(buffer->count) << 48,
		      &even);
	olaf_word_put(header, 3, bpf_cpu_to_be64(buffer->generated_ns), &odd);
	olaf_word_put(header, 4, bpf_htonl(buffer->chunk) | (__u64)bpf_htonl(buffer->chunks) << 32,
		      &even);
	olaf_word_put(header, 5,
		      bpf_htonl(buffer->generation) | (__u64)bpf_htons(buffer->exponent) << 32 |
			      (__u64)READ_ONCE(job->pool) << 48,
		      &odd);
	header->check = olaf_parity_of(even, odd);
}

/* Leaves the UDP checksum of the staged headers to a device, as a socket does. */
static __always_inline void olaf_round_sum_partly(struct olaf_entry *staged, __u32 header_bytes,
						  __u32 family)
{
	struct udphdr *udp = (void *)&staged->message - sizeof(*udp);
	__u32 ip_bytes = family == 4 ? sizeof(struct olaf_headers4) : sizeof(struct olaf_headers6);

	udp->check = olaf_partial_checksum(staged, header_bytes, header_bytes - ip_bytes, family);
}

/*
 * Sum of a buffer's lanes for UDP checksums. Under its slot's lock. A function by itself, because the
 * verifier follows whatever comes behind such a loop once for each number of lanes.
 */
__noinline __u64 olaf_round_sum(__u32 buffer_index, __u32 count)
{
	__u64 *lanes = olaf_round_lanes_at(buffer_index);

	return lanes ? olaf_lanes_sum(lanes, olaf_clamp(count, 1, olaf_cfg.max_lanes)) : 0;
}

/* The same of a result, worked out when it is first asked for. */
static __always_inline __u64 olaf_round_result_sum(struct olaf_round_buffer *buffer,
						   __u32 buffer_index, __u32 count)
{
	if (!buffer->summed)
		buffer->lanes_sum = olaf_round_sum(buffer_index, count);
	buffer->summed = 1;
	return buffer->lanes_sum;
}

/*
 * Ends and IP version of the way. Both MAC addresses are the queue's own, so that the kernel takes the
 * frame for one to this host, until somebody who knows puts others there.
 */
static __always_inline void olaf_parent_ends(const struct olaf_job *job, struct olaf_round_way *way)
{
	const struct olaf_job_setup *setup = &job->setup;
	int i;

	olaf_address_copy(way->ends.saddr_be, setup->source_addr_be);
	olaf_address_copy(way->ends.daddr_be, setup->parent_addr_be);
	way->ends.source_be = olaf_cfg.port_be;
	way->ends.dest_be = setup->parent_port_be;
	way->family = setup->parent_family;
	for (i = 0; i < ETH_ALEN; i++) {
		way->dmac[i] = olaf_cfg.mac[i];
		way->smac[i] = olaf_cfg.mac[i];
	}
}

/*
 * The generation that the parent knows, for what was gathered in this one of the job's; 0: that is
 * over. The job's changes before the parent's does, so what is read first is no newer.
 */
static __always_inline __u32 olaf_parent_generation(struct olaf_job *job, __u32 generation)
{
#ifdef __TARGET_ARCH_x86
	__u32 parents = READ_ONCE(job->parent_generation); /* loads stay in order here */
#else
	__u32 parents = __sync_fetch_and_add(&job->parent_generation, 0);
#endif
	return READ_ONCE(job->generation) == generation ? parents : 0;
}

/* The Ethernet address of a group: RFC 1112 and RFC 2464. */
static __always_inline void olaf_group_mac(__u8 mac[ETH_ALEN], const __be32 addr_be[4],
					   __u32 family)
{
	__u32 low = bpf_ntohl(family == 4 ? addr_be[0] : addr_be[3]);

	mac[0] = family == 4 ? 0x01 : 0x33;
	mac[1] = family == 4 ? 0x00 : 0x33;
	mac[2] = family == 4 ? 0x5e : low >> 24;
	mac[3] = family == 4 ? low >> 16 & 0x7f : low >> 16;
	mac[4] = low >> 8;
	mac[5] = low;
}

/*
 * Turns the way to the lowest member into the way to all: from the address that it sends to and with
 * its VLAN tags, but to the group. Returns whether that is possible. A function by itself, because its
 * registers would lie on the stack of whoever writes a result.
 */
static __noinline int olaf_group_way(const struct olaf_job *job, struct olaf_round_way *way)
{
	if (!job || !way || way->family != job->setup.group_family)
		return 0;
	olaf_address_copy(way->ends.daddr_be, job->setup.group_addr_be);
	way->ends.dest_be = olaf_cfg.port_be;
	way->hops = job->setup.group_hops;
	olaf_group_mac(way->dmac, job->setup.group_addr_be, way->family);
	return 1;
}

/* The way to a rank, or with OLAF_EVERY_WORKER to all members of a round. Returns whether there is one. */
static __always_inline int olaf_result_way(const struct olaf_job *job, __u32 job_index, __u32 rank,
					   __u32 round, struct olaf_round_way *way)
{
	if (rank != OLAF_EVERY_WORKER)
		return olaf_child_way(job_index, rank, way);
	return olaf_child_way(job_index, olaf_lowest_member(job, round), way) &&
	       olaf_group_way(job, way);
}

#endif /* OLAF_ROUND_HEADERS_BPF_H */
