/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Telling a listener what happens (olaf/events.h).
 *
 * Map olaf_events: the ring buffer. Writers: every program, each record under the kernel's
 * own lock of the buffer; the reader never holds it. What finds no room is counted and lost.
 *
 * Map olaf_listen: key 0, value struct olaf_listen. Writer: the listener. While nobody
 * listens all there is of this file is one comparison, olaf_listened().
 *
 * Map olaf_telling: key 0, one copy a CPU. Where a record is put together; softirq doesn't
 * preempt itself.
 *
 *   event = olaf_event_begin(...)     NULL: not wanted, or not this one's turn
 *   the caller fills in what it knows, and the frame: olaf_event_take_xdp(), ..._skb()
 *   olaf_event_send(event)
 */
#ifndef OLAF_EVENTS_BPF_H
#define OLAF_EVENTS_BPF_H

#include "bpf/age/clock.bpf.h"
#include "bpf/counters.bpf.h"
#include "olaf/events.h"

struct olaf_record {
	struct olaf_event event;
	__u8 frame[OLAF_EVENT_FRAME_MAX];
};

struct olaf_telling {
	struct olaf_record record;
	__u64 seen; /* events that could have been told here: what sampling counts */
	__u32 wanted_bytes; /* of the frame, by this record */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* bytes, set by the loader */
} olaf_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_listen);
} olaf_listen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_telling);
} olaf_telling SEC(".maps");

static __always_inline struct olaf_listen *olaf_listener(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_listen, &zero);
}

/* Does anybody listen? The one branch there is while nobody does. */
static __always_inline int olaf_listened(__u64 now)
{
	struct olaf_listen *listen = olaf_listener();

	return listen && now < READ_ONCE(listen->until_ns);
}

/* The same where no time is at hand: who once listened costs a look at the clock. */
static __always_inline int olaf_listened_lately(void)
{
	struct olaf_listen *listen = olaf_listener();

	return listen && READ_ONCE(listen->until_ns) && olaf_listened(bpf_ktime_get_ns());
}

/* Is an event of that kind and cluster wanted, and is it its turn? */
static __always_inline int olaf_event_wanted(struct olaf_telling *telling,
					     const struct olaf_listen *listen, __u32 kind,
					     __u32 cluster, __u32 no_cluster)
{
	__u32 sample = READ_ONCE(listen->sample);

	if (!(READ_ONCE(listen->kinds) & (1U << kind)))
		return 0;
	if (!no_cluster && (cluster < READ_ONCE(listen->first_cluster) ||
			    cluster > READ_ONCE(listen->last_cluster)))
		return 0;
	telling->seen++;
	return sample < 2 || telling->seen % sample == 0;
}

/*
 * Starts a record of this CPU; `update` may be NULL: of no known cluster. Under
 * olaf_listened(). Returns NULL if it isn't wanted.
 */
static __always_inline struct olaf_telling *olaf_event_begin(__u32 kind, __u32 detail,
							     const struct olaf_pending *update,
							     __u64 now)
{
	struct olaf_listen *listen = olaf_listener();
	struct olaf_telling *telling;
	struct olaf_event *event;
	__u32 zero = 0;

	telling = bpf_map_lookup_elem(&olaf_telling, &zero);
	if (!listen || !telling ||
	    !olaf_event_wanted(telling, listen, kind, update ? update->cluster : 0, !update))
		return NULL;
	event = &telling->record.event;
	__builtin_memset(event, 0, sizeof(*event));
	event->time_ns = now;
	event->tai_offset_ns = olaf_tai_offset(now);
	event->kind = kind;
	event->detail = detail;
	event->frames = kind == OLAF_EVENT_LOSS;
	event->cpu = bpf_get_smp_processor_id();
	event->sampled = READ_ONCE(listen->sample);
	telling->wanted_bytes = READ_ONCE(listen->frame_bytes);
	if (!update)
		return telling;
	event->generated_ns = update->generated_ns;
	event->cluster = update->cluster;
	event->worker = update->worker;
	event->sequence = update->sequence;
	event->count = update->count;
	event->model_version = update->model_version;
	event->segment = update->segment;
	return telling;
}

/* When the updates of a departing entry arrived. */
static __always_inline void olaf_event_arrived(struct olaf_telling *telling,
					       const struct olaf_pending *update)
{
	telling->record.event.first_arrived_ns = update->first_arrived_ns;
	telling->record.event.arrived_ns = update->arrived_ns;
}

/* olaf_event_take_xdp(ctx, telling, bytes), ..._skb(...): the frame, which is `bytes` long. */
#define OLAF_DEFINE_EVENT_TAKE(NAME, CONTEXT, LOAD)                                             \
	static __always_inline void NAME(CONTEXT *ctx, struct olaf_telling *telling, __u32 bytes) \
	{                                                                                       \
		struct olaf_event *event = &telling->record.event;                              \
		__u32 taken = bytes < telling->wanted_bytes ? bytes : telling->wanted_bytes;     \
                                                                                                \
		event->frame_bytes = bytes;                                                     \
		if (!taken)                                                                     \
			return;                                                                 \
		taken = olaf_clamp(taken, 1, OLAF_EVENT_FRAME_MAX);                             \
		if (!LOAD(ctx, 0, telling->record.frame, taken))                                \
			event->captured_bytes = taken;                                          \
	}

OLAF_DEFINE_EVENT_TAKE(olaf_event_take_xdp, struct xdp_md, bpf_xdp_load_bytes)
OLAF_DEFINE_EVENT_TAKE(olaf_event_take_skb, struct __sk_buff, bpf_skb_load_bytes)

/* Hands the record over, or counts it as lost. */
static __always_inline void olaf_event_send(struct olaf_telling *telling)
{
	__u32 bytes = sizeof(struct olaf_event) + telling->record.event.captured_bytes;

	bytes = olaf_clamp(bytes, sizeof(struct olaf_event), sizeof(struct olaf_record));
	if (bpf_ringbuf_output(&olaf_events, &telling->record, bytes, 0))
		olaf_count(events_lost);
}

#endif /* OLAF_EVENTS_BPF_H */
