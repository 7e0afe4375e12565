/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A job's message at hand: CONTRIBUTION, RESULT or CONTROL (docs/rounds.md).
 *
 * Map olaf_round_messages: key 0, value struct olaf_round_message, one copy a CPU. Writer and
 * reader: the XDP program, or that at the parent's device (parent.bpf.c), for the frame it runs on,
 * whose place in the frame struct olaf_arrival says.
 */
#ifndef OLAF_ROUND_MESSAGE_BPF_H
#define OLAF_ROUND_MESSAGE_BPF_H

#include "bpf/packet/checksum.bpf.h"
#include "bpf/packet/parse.bpf.h"
#include "bpf/rounds/deliveries.bpf.h"
#include "bpf/rounds/jobs.bpf.h"
#include "bpf/troubles.bpf.h"

struct olaf_round_message {
	__u32 job; /* index of its job; it outlives the frame */
	__u32 type; /* enum olaf_message_type */
	__u32 flags; /* OLAF_FLAG_*, all of them */
	__u32 rank; /* CONTRIBUTION, CONTROL: the sender's; RESULT: this node's at its parent */
	__u32 round;
	__u32 chunk;
	__u32 chunks; /* CONTROL, WAIT: how many haven't asked; SETH: the threshold */
	__u32 vector; /* CONTRIBUTION, RESULT: workers << 16 | content */
	__u32 count; /* CONTROL: the rank that an answer names */
	__u32 generation;
	__s32 exponent; /* CONTROL: enum olaf_control_status */
	__u32 pool;
	__u32 tick; /* low bits of jiffies when the clock was last read; it outlives the frame */
	__u64 generated_ns;
	__u32 action; /* CONTROL: enum olaf_control_action; STALE: the generation that was named */
	__u64 incarnation; /* SYNC, JOIN: enum olaf_sync_lane; olaf_session_load() */
	__u64 session; /* behind `incarnation`, as in the frame */
	struct olaf_run run; /* behind those: the sender's; in an answer, that which has the job */
	__u32 to_source; /* what answers it goes to `sender`: its rank is bound to somebody else */
	__u32 pad;
	struct olaf_member sender; /* whom the frame came from, once that was read (child.bpf.h) */
	/*
	 * The result that the frame carries away. Not on the stack: there the verifier keeps the bounds of its
	 * rank, and follows the frame once for each. What it reads from a map has no bounds.
	 */
	struct olaf_delivery delivery;
};
OLAF_SPAN(olaf_round_message, offsetof(struct olaf_round_message, incarnation),
	  offsetof(struct olaf_round_message, to_source), incarnation, session, run);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_round_message);
} olaf_round_messages SEC(".maps");

static __always_inline struct olaf_round_message *olaf_round_message_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_round_messages, &zero);
}

/* The header that the entrance has seen; NULL if the frame ends before. */
static __always_inline const struct olaf_header *olaf_round_header(void *data, const void *end,
								   const struct olaf_arrival *a)
{
	const struct olaf_header *header =
		olaf_at(data, a->update.l4_offset) + sizeof(struct udphdr);

	return (void *)(header + 1) <= end ? header : NULL;
}

/* Takes the header's fields over, in host order. */
static __always_inline void olaf_round_read(const struct olaf_header *header,
					    struct olaf_round_message *m)
{
	__u32 worker = bpf_ntohl(header->worker_be);

	m->flags = bpf_ntohs(header->flags_be);
	m->rank = worker & 0xffff;
	m->round = bpf_ntohl(header->sequence_be);
	m->action = bpf_ntohl(header->action_be);
	m->count = m->action & 0xffff;
	m->vector = (worker & ~0xffffU) | m->action >> 16;
	m->generated_ns = bpf_be64_to_cpu(header->generated_ns_be);
	m->chunk = bpf_ntohl(header->chunk_be);
	m->chunks = bpf_ntohl(header->chunks_be);
	m->generation = bpf_ntohl(header->generation_be);
	m->exponent = (__s16)bpf_ntohs(header->exponent_be);
	m->pool = header->pool;
	m->to_source = 0;
}

/* Lanes that a CONTROL message has at least. An answer of the parent's has no more. */
static __always_inline __u32 olaf_control_lanes(const struct olaf_round_message *m)
{
	return m->action == OLAF_CONTROL_SYNC || m->action == OLAF_CONTROL_JOIN ? OLAF_SYNC_LANES : 0;
}

/* What any job's message must be. A child may pad a question with lanes. OLAF_FRAME_ROUND, or malformed. */
static __always_inline int olaf_round_check(const struct olaf_round_message *m, __u32 lanes)
{
	__u32 least = olaf_control_lanes(m);

	if (m->type == OLAF_CONTROL)
		return lanes < least || (lanes > least && (m->flags & OLAF_FLAG_ANSWER)) ?
			       olaf_malformed(OLAF_MALFORMED_LANES) :
			       OLAF_FRAME_ROUND;
	if (m->chunk >= m->chunks && (m->type == OLAF_CONTRIBUTION || !(m->flags & OLAF_FLAG_STALE)))
		return olaf_malformed(OLAF_MALFORMED_CHUNK);
	if (m->type == OLAF_CONTRIBUTION && !m->count)
		return olaf_malformed(OLAF_MALFORMED_COUNT);
	return OLAF_FRAME_ROUND;
}

/*
 * Are the lanes protected by nothing? A sum that has no checksum lane needs a UDP checksum at each hop; zero
 * is none, which IPv4 allows.
 */
static __always_inline int olaf_round_is_bare(const struct olaf_header *header,
					      const struct olaf_arrival *a)
{
	const struct udphdr *udp = (const void *)header - sizeof(*udp);

	return !(a->update.flags & OLAF_FLAG_CHECKSUM) && !udp->check && header->lanes_be;
}

/*
 * Reads the message, of a job that is here, into *m, and its lengths into *a. OLAF_FRAME_ROUND, or
 * malformed. The frame begins with data ... end; its length is `whole`, or with a ctx the frame's own. It
 * has been parsed as far as the message's type.
 */
static __always_inline int olaf_round_parse(struct xdp_md *ctx, void *data, void *end, __u32 whole,
					    struct olaf_arrival *a, struct olaf_round_message *m)
{
	__u32 offset = olaf_clamp(a->update.l4_offset, OLAF_MIN_HEADERS - sizeof(struct udphdr),
				  OLAF_MAX_HEADERS - sizeof(struct udphdr));
	struct olaf_header *header = olaf_at(data, offset) + sizeof(struct udphdr);
	int frame;

	if ((void *)(header + 1) > end)
		return olaf_malformed(OLAF_MALFORMED_TRUNCATED);
	frame = olaf_check_lengths(ctx, data, end, whole, a, offset);
	if (header->version != OLAF_ROUNDS_VERSION)
		return frame == OLAF_FRAME_UPDATE ? olaf_malformed(OLAF_MALFORMED_VERSION) : frame;
	if (olaf_header_parity((const __u64 *)header))
		return olaf_malformed(OLAF_MALFORMED_HEADER);
	a->update.lanes = bpf_ntohs(header->lanes_be);
	a->update.flags = bpf_ntohs(header->flags_be) & (OLAF_FLAG_CHECKSUM | OLAF_FLAG_FORMAT_MASK);
	if (m->type == OLAF_CONTROL) /* its lanes have no checksum lane, whatever the flags say */
		a->update.flags = 0;
	olaf_round_read(header, m);
	if (frame == OLAF_FRAME_UPDATE && olaf_round_is_bare(header, a))
		return olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM);
	return frame == OLAF_FRAME_UPDATE ? olaf_round_check(m, a->update.lanes) : frame;
}

/* Reads bytes of the frame at hand, which XDP and TC do each in their way. 0, or negative. */
typedef long (*olaf_frame_load)(void *ctx, __u32 at, void *to, __u32 bytes);

static __always_inline long olaf_frame_load_xdp(void *ctx, __u32 at, void *to, __u32 bytes)
{
	return bpf_xdp_load_bytes(ctx, at, to, bytes);
}

/* The lanes of the SYNC or JOIN at hand, to *m. Returns whether they are there. */
static __always_inline int olaf_session_load(void *ctx, const struct olaf_arrival *a,
					     struct olaf_round_message *m, olaf_frame_load load)
{
	return !olaf_control_lanes(m) ||
	       !load(ctx, a->update.l4_offset + sizeof(struct udphdr) + sizeof(struct olaf_header),
		     &m->incarnation, OLAF_SYNC_LANES * sizeof(__u64));
}

/* Has the message at hand its session and run? A question of no run could be anybody's. */
static __always_inline int olaf_session_take(struct xdp_md *ctx, const struct olaf_arrival *a,
					     struct olaf_round_message *m)
{
	if (m->type != OLAF_CONTROL || !olaf_control_lanes(m))
		return OLAF_FRAME_ROUND;
	if (!olaf_session_load(ctx, a, m, olaf_frame_load_xdp) ||
	    (!(m->flags & OLAF_FLAG_ANSWER) && !m->run.training))
		return olaf_malformed(OLAF_MALFORMED_LANES);
	return OLAF_FRAME_ROUND;
}

/* The same in XDP, which also asks whether the message is whole. OLAF_FRAME_ROUND, or malformed. */
static __always_inline int olaf_round_take(struct xdp_md *ctx, struct olaf_arrival *a,
					   struct olaf_round_message *m)
{
	int frame = olaf_round_parse(ctx, (void *)(long)ctx->data, (void *)(long)ctx->data_end, 0, a, m);

	if (frame != OLAF_FRAME_ROUND || !a->update.lanes)
		return frame;
	frame = olaf_verify_bare(ctx, a);
	return frame == OLAF_FRAME_UPDATE ? olaf_session_take(ctx, a, m) : frame;
}

/* Has the message the job's shape? Probes and STALE have no lanes, and a padded question no format. */
static __always_inline int olaf_round_fits(const struct olaf_arrival *a,
					   const struct olaf_round_message *m,
					   const struct olaf_job *job)
{
	int from_child = m->type == OLAF_CONTRIBUTION ||
			 (m->type == OLAF_CONTROL && !(m->flags & OLAF_FLAG_ANSWER));

	if (from_child && m->rank >= job->setup.children)
		return 0;
	if (m->type == OLAF_CONTROL)
		return a->update.lanes == olaf_control_lanes(m) || a->update.lanes == job->setup.lanes;
	if (!a->update.lanes)
		return m->type != OLAF_RESULT || (m->flags & (OLAF_FLAG_STALE | OLAF_FLAG_MISFIT));
	return a->update.lanes == job->setup.lanes && a->update.flags == job->setup.shape;
}

/* Is the message sent to the group that the parent's results go to? */
static __always_inline int olaf_is_to_parents_group(void *data, const void *end,
						    const struct olaf_arrival *a,
						    const struct olaf_job *job)
{
	return (job->setup.flags & OLAF_JOB_PARENTS_GROUP) &&
	       a->update.family == job->setup.parent_family &&
	       olaf_sender_meant(data, end, a, job->setup.parent_group_be,
				 job->setup.parent_family);
}

/* Does the message come from the job's parent, to this node's own address or for all its children? */
static __always_inline int olaf_is_from_parent(void *data, const void *end,
					       const struct olaf_arrival *a,
					       const struct olaf_job *job)
{
	return job->setup.parent_family &&
	       olaf_sender_is(data, end, a, job->setup.parent_addr_be, job->setup.parent_family) &&
	       olaf_sender_port(data, end, a) == job->setup.parent_port_be &&
	       (olaf_sender_meant(data, end, a, job->setup.source_addr_be,
				  job->setup.parent_family) ||
		olaf_is_to_parents_group(data, end, a, job));
}

#endif /* OLAF_ROUND_MESSAGE_BPF_H */
