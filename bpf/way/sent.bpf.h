/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_sent: what was handed to the way out and may yet be refused.
 *
 * Key 0, struct olaf_sent, one copy a CPU. Writers: XDP and the drain note what they send, the
 * loss programs take note of what became of it. A frame is refused on the CPU that sent it, in
 * the same softirq, which doesn't preempt itself: plain writes are exact.
 *
 * The kernel's tracepoints tell how many frames a device refused, not which. XDP frames are
 * handed over in batches, in the order in which they were noted, and a device refuses the last
 * ones of a batch. So the noted counts say how many updates those frames held. A probe and a job's
 * message hold none.
 */
#ifndef OLAF_SENT_BPF_H
#define OLAF_SENT_BPF_H

#include "bpf/config.bpf.h"

/* Frames remembered, a power of two. The kernel's batches hold 16, and one more is under way. */
#define OLAF_SENT_KEPT 128
/* Bytes of a message that tell it from any other: from the cluster to generated_ns. */
#define OLAF_SENT_ID_AT __builtin_offsetof(struct olaf_header, cluster_be)
#define OLAF_SENT_ID_WORDS 6

/* Who handed over the message `id` last, and doesn't know yet what became of it. */
enum olaf_sender {
	OLAF_SENT_BY_NOBODY = 0,
	OLAF_SENT_BY_DRAIN = 1,
	OLAF_SENT_BY_XDP = 2, /* generic XDP */
};

/* What an skb that was freed while the drain sent was. */
#define OLAF_FELL_ITSELF 0x1 /* the departure at hand */
#define OLAF_FELL_OTHER 0x2 /* something else on the same device */

struct olaf_sent {
	__u32 noted; /* frames that XDP sent: counts up for ever */
	__u32 settled; /* those of them whose batch is known to be over */
	__u32 excused; /* the next skb freed is a refused frame that is counted already */
	__u32 sender; /* enum olaf_sender, of the message `id` */
	__u32 drain_fell; /* OLAF_FELL_* while the drain sends */
	__u32 id[OLAF_SENT_ID_WORDS];
	__u32 came_by; /* device that the frame noted last came by: where DEV is a bond, a slave of it */
	__u32 counts[OLAF_SENT_KEPT]; /* updates in frame i, at i % OLAF_SENT_KEPT */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_sent);
} olaf_sent SEC(".maps");

static __always_inline struct olaf_sent *olaf_sent_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_sent, &zero);
}

/* `message` is being handed over. Wire form. */
static __always_inline void olaf_sent_by(struct olaf_sent *sent, enum olaf_sender sender,
					 const struct olaf_header *message)
{
	const __u32 *id = (const void *)message + OLAF_SENT_ID_AT;
	int i;

	for (i = 0; i < OLAF_SENT_ID_WORDS; i++)
		sent->id[i] = id[i];
	sent->sender = sender;
}

/* XDP is about to send a frame of `updates`. Returns NULL if the map is missing. */
static __always_inline struct olaf_sent *olaf_sent_note(struct xdp_md *ctx, __u32 updates)
{
	struct olaf_sent *sent = olaf_sent_here();

	if (!sent)
		return NULL;
	sent->came_by = ctx->ingress_ifindex;
	sent->counts[sent->noted % OLAF_SENT_KEPT] = updates;
	sent->noted++;
	return sent;
}

/* The frame noted last was refused at once, and will be in no batch. Returns its updates. */
static __always_inline __u32 olaf_sent_take_back(struct olaf_sent *sent)
{
	sent->noted--;
	return sent->counts[sent->noted % OLAF_SENT_KEPT];
}

/*
 * A batch of `frames` is over, the last `dropped` of them refused. It ends with the frame noted
 * last, or with the one before: a full batch goes when the next frame comes. Returns the updates
 * in what was refused.
 */
static __always_inline __u64 olaf_sent_settle(struct olaf_sent *sent, __u32 frames, __u32 dropped)
{
	__u32 end = sent->noted, i;
	__u64 updates = 0;

	if (end - sent->settled == frames + 1)
		end--;
	sent->settled = end;
	for (i = 0; i < OLAF_SENT_KEPT / 2 && i < dropped; i++) {
		end--;
		updates += sent->counts[end % OLAF_SENT_KEPT];
	}
	return updates;
}

/* The drain hands over this message; olaf_sent_drain_end() tells what happened to it. */
static __always_inline struct olaf_sent *olaf_sent_drain_begin(const struct olaf_header *message)
{
	struct olaf_sent *sent = olaf_sent_here();

	if (!sent)
		return NULL;
	sent->drain_fell = 0;
	olaf_sent_by(sent, OLAF_SENT_BY_DRAIN, message);
	return sent;
}

/*
 * Was it refused? `error` is what bpf_clone_redirect() said. Above 0 it may mean that a queue
 * made room by dropping another frame: the loss programs know, if they watch.
 */
static __always_inline int olaf_sent_drain_end(struct olaf_sent *sent, long error)
{
	if (!sent)
		return error != 0;
	sent->sender = OLAF_SENT_BY_NOBODY;
	return error < 0 || (sent->drain_fell & OLAF_FELL_ITSELF) || (error && !sent->drain_fell);
}

#endif /* OLAF_SENT_BPF_H */
