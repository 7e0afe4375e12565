// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What comes from a job's parent that is behind another device than the queue's: TC ingress of that
 * device.
 *
 *   RESULT    -> is owed to all children; clones of the frame carry results away
 *   CONTROL   -> the answer to this node's SYNC; the frame tells the child that asked last
 *
 * What isn't a job's, or not sent to this node by UDP, passes untouched, and later filters still run.
 * It is what rounds.bpf.c does for a parent behind the queue's own device. Here it is TC's, because the
 * frame leaves by another device than it came in by, which XDP may do only where both drivers take part.
 */
#include <linux/pkt_cls.h>

#include "bpf/rounds/clones.bpf.h"
#include "bpf/rounds/control.bpf.h"
#include "bpf/rounds/down.bpf.h"
#include "bpf/rounds/job_ids.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What the frame at hand is. */
enum olaf_from_parent {
	OLAF_PARENT_NOT_OURS = 0,
	OLAF_PARENT_REFUSED = 1, /* ours, and nothing comes of it */
	OLAF_PARENT_TAKEN = 2,
};

/* Makes the headers lie in one piece, and reads the frame as far as its message's type. */
static __always_inline int olaf_parent_look(struct __sk_buff *skb, struct olaf_arrival *a)
{
	__u32 least = OLAF_MIN_HEADERS + sizeof(struct olaf_header), bytes = skb->len;

	if (bytes < least || skb->vlan_present)
		return 0;
	bytes = olaf_clamp(bytes, least, OLAF_MAX_HEADERS + sizeof(struct olaf_header));
	if (bpf_skb_pull_data(skb, bytes))
		return 0;
	return olaf_parse_bytes(NULL, (void *)(long)skb->data, (void *)(long)skb->data_end, skb->len,
				a) == OLAF_FRAME_ROUND;
}

/*
 * Reads the message into *m, and its lengths into *a. Returns the job whose parent is behind this
 * device; NULL: it is no such job's. *frame: OLAF_FRAME_ROUND, or malformed.
 */
static __always_inline struct olaf_job *olaf_parent_read(struct __sk_buff *skb,
							 struct olaf_arrival *a,
							 struct olaf_round_message *m, int *frame)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	const struct olaf_header *header = olaf_round_header(data, end, a);
	struct olaf_job *job;

	if (!header)
		return NULL;
	m->type = header->type;
	job = olaf_job_of(bpf_ntohl(header->cluster_be), &m->job);
	if (!job || job->setup.parent_ifindex != skb->ifindex)
		return NULL;
	*frame = olaf_round_parse(NULL, data, end, skb->len, a, m);
	return job;
}

/* Is it to this node, as the job's parent sends it, and from the parent? */
static __always_inline int olaf_parent_is_it(struct __sk_buff *skb, const struct olaf_arrival *a,
					     const struct olaf_job *job)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u32 family = job->setup.parent_family;

	if (a->update.family != family ||
	    (!olaf_sender_meant(data, end, a, job->setup.source_addr_be, family) &&
	     !olaf_is_to_parents_group(data, end, a, job)))
		return OLAF_PARENT_NOT_OURS;
	return olaf_is_from_parent(data, end, a, job) ? OLAF_PARENT_TAKEN : OLAF_PARENT_REFUSED;
}

/*
 * Is the message's UDP checksum wrong? Asked as olaf_udp_is_wrong() asks it. A global function, because the
 * verifier follows what comes behind such a loop once for each number of lanes.
 */
__noinline int olaf_parent_sum_is_wrong(struct __sk_buff *skb)
{
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	__u32 header_bytes, bytes;
	struct udphdr *udp;
	__u16 pseudo;

	if (!a || !staged || a->update.lanes > olaf_cfg.max_lanes)
		return 1;
	header_bytes = olaf_clamp(a->update.header_bytes, OLAF_MIN_HEADERS, OLAF_MAX_HEADERS);
	bytes = olaf_clamp(header_bytes + a->message_bytes, ETH_HLEN, OLAF_MAX_FRAME);
	if (bpf_skb_load_bytes(skb, 0, olaf_frame_of(staged, header_bytes), bytes))
		return 1;
	udp = (void *)&staged->message - sizeof(*udp);
	pseudo = olaf_partial_checksum(staged, header_bytes, a->update.l3_offset, a->update.family);
	/* 0: nobody summed it. The pseudo header's: a socket of this host left it to the device. */
	if (!udp->check || udp->check == pseudo)
		return 0;
	return olaf_checksum_fold((__u64)pseudo + udp->source + udp->dest + udp->len + udp->check +
				  olaf_header_sum(&staged->message) +
				  olaf_lanes_sum(staged->lanes, a->update.lanes)) != 0;
}

/* Has the parent's message the job's shape, and is it whole? OLAF_FRAME_ROUND, or malformed. */
static __always_inline int olaf_parent_verify(struct __sk_buff *skb, const struct olaf_arrival *a,
					      const struct olaf_round_message *m,
					      const struct olaf_job *job)
{
	if (!olaf_round_fits(a, m, job))
		return olaf_malformed(OLAF_MALFORMED_JOB);
	if (!a->update.lanes || (a->update.flags & OLAF_FLAG_CHECKSUM))
		return OLAF_FRAME_ROUND;
	return olaf_parent_sum_is_wrong(skb) ? olaf_malformed(OLAF_MALFORMED_UDP_CHECKSUM) :
					       OLAF_FRAME_ROUND;
}

OLAF_DEFINE_TELL_REFUSAL(olaf_tell_refused_skb, struct __sk_buff, olaf_event_take_skb)

static __always_inline void olaf_tell_parent_refusal(struct __sk_buff *skb, __u32 reason, __u32 cause,
						     const struct olaf_arrival *a)
{
	if (olaf_listened(a->now))
		olaf_tell_refused_skb(skb, reason, cause, skb->len, 0);
}

/*
 * Reads the frame at hand into this CPU's arrival and message. Returns enum olaf_from_parent. A global
 * function: verified once.
 */
__noinline int olaf_parent_meet(struct __sk_buff *skb)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	int frame = OLAF_FRAME_ROUND, is_it;
	struct olaf_job *job;

	if (!a || !m || !olaf_parent_look(skb, a))
		return OLAF_PARENT_NOT_OURS;
	job = olaf_parent_read(skb, a, m, &frame);
	/* CONTRIBUTION and questions: somebody else's, or on their way through this host. */
	if (!job || m->type == OLAF_CONTRIBUTION ||
	    (m->type == OLAF_CONTROL && !(m->flags & OLAF_FLAG_ANSWER)))
		return OLAF_PARENT_NOT_OURS;
	is_it = olaf_parent_is_it(skb, a, job);
	if (is_it == OLAF_PARENT_NOT_OURS)
		return OLAF_PARENT_NOT_OURS;
	a->now = bpf_ktime_get_ns();
	if (is_it == OLAF_PARENT_REFUSED) {
		olaf_trouble_not_allowed(OLAF_NOT_ALLOWED_JOB_RESULT, a->now);
		olaf_tell_parent_refusal(skb, OLAF_DROPPED_NOT_ALLOWED, OLAF_NOT_ALLOWED_JOB_RESULT, a);
		return OLAF_PARENT_REFUSED;
	}
	if (frame == OLAF_FRAME_ROUND)
		frame = olaf_parent_verify(skb, a, m, job);
	if (frame == OLAF_FRAME_ROUND)
		return OLAF_PARENT_TAKEN;
	olaf_trouble_malformed(frame - OLAF_FRAME_MALFORMED);
	olaf_tell_parent_refusal(skb, OLAF_DROPPED_MALFORMED, frame - OLAF_FRAME_MALFORMED, a);
	return OLAF_PARENT_REFUSED;
}

static __always_inline long olaf_frame_load_skb(void *ctx, __u32 at, void *to, __u32 bytes)
{
	return bpf_skb_load_bytes(ctx, at, to, bytes);
}

/* olaf_down() for TC. A global function: verified once. */
__noinline int olaf_parent_down(struct __sk_buff *skb)
{
	return olaf_down_by(skb, olaf_frame_load_skb);
}

/*
 * Header bytes of a frame whose checksum the device finishes; 0: it is no such frame. The kernel cuts no
 * skb shorter than where that checksum belongs, which nothing else tells a TC program. So this takes the
 * message away: it is read by now.
 */
static __always_inline __u32 olaf_parent_partial(struct __sk_buff *skb, const struct olaf_arrival *a)
{
	__u32 checksum_end = a->update.l4_offset + sizeof(struct udphdr);

	return bpf_skb_change_tail(skb, checksum_end - 1, 0) ? checksum_end : 0;
}

/* One frame in, one frame out; more where more results wait than frames will come for. */
static __always_inline void olaf_parent_carry(struct __sk_buff *skb, const struct olaf_arrival *a,
					      const struct olaf_round_message *m, struct olaf_job *job)
{
	struct olaf_copying copying = { .skb = skb, .job = m->job };
	__u32 most = olaf_line_is_long(job, m) ? OLAF_MOST_COPIES : 1;

	if (!olaf_lines_wait(job))
		return;
	copying.partial = olaf_parent_partial(skb, a);
	bpf_loop(most, olaf_copy_next, &copying, 0);
}

/* The answer becomes the skb, for the child m->rank. Returns 0, or -1: it can't. */
__noinline int olaf_parent_answer(struct __sk_buff *skb)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_entry *staged = olaf_staging();
	struct olaf_round_way way = {};
	__u32 header_bytes;
	struct olaf_job *job;
	__u64 sum;

	if (!m || !a || !staged)
		return -1;
	job = olaf_job_at(m->job);
	if (!job || !olaf_child_way(m->job, m->rank, &way))
		return -1;
	m->incarnation = 0;
	olaf_control_say(&staged->message, job, m, OLAF_FLAG_ANSWER | m->flags,
			 olaf_names_other(m) ? m->count : m->rank);
	staged->message.lanes_be = bpf_htons(OLAF_SYNC_LANES);
	sum = olaf_sync_lanes(OLAF_SYNC_LANES);
	header_bytes = olaf_round_dress(staged, OLAF_SYNC_LANES, sum, &way);
	if (!olaf_copy_leave_partial(staged, header_bytes, way.family, olaf_parent_partial(skb, a)))
		return -1;
	return olaf_copy_put(skb, staged, header_bytes, staged->lanes, OLAF_SYNC_LANES);
}

/* The parent's answer to a SYNC. Returns TC_ACT_*. */
static __always_inline int olaf_parent_told(struct __sk_buff *skb, const struct olaf_arrival *a,
					    struct olaf_round_message *m)
{
	/* A node asks its parent nothing but SYNC: all else answers nothing. */
	if (m->action != OLAF_CONTROL_SYNC || !olaf_session_load(skb, a, m, olaf_frame_load_skb) ||
	    olaf_sync_told() != OLAF_SYNC_ANSWER || olaf_parent_answer(skb))
		return TC_ACT_SHOT;
	return bpf_redirect(olaf_cfg.ifindex, 0);
}

SEC("tc")
int olaf_parent_in(struct __sk_buff *skb)
{
	struct olaf_round_message *m = olaf_round_message_here();
	struct olaf_arrival *a = olaf_arrival_here();
	struct olaf_job *job;
	int met;

	if (!a || !m)
		return TC_ACT_UNSPEC;
	met = olaf_parent_meet(skb);
	if (met == OLAF_PARENT_NOT_OURS)
		return TC_ACT_UNSPEC;
	job = olaf_job_at(m->job);
	if (met == OLAF_PARENT_REFUSED || !job)
		return TC_ACT_SHOT;
	if (m->type == OLAF_CONTROL)
		return olaf_parent_told(skb, a, m);
	olaf_parent_down(skb);
	olaf_parent_carry(skb, a, m, job);
	return TC_ACT_SHOT;
}
