/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events: what happens to each update, told to whoever listens through the BPF ring buffer
 * olaf_events.
 *
 * Nobody listens unless olaf_listen[0].until_ns lies ahead: a lease that the listener renews
 * (OLAF_LISTEN_LEASE_NS), so that one that is killed costs nothing soon after. There is one
 * listener at a time: a ring buffer has one reading position. Each update that comes in makes
 * one event: an arrival, a drop, or a departure that passed; each entry that leaves makes
 * another. What finds the buffer full is lost and counted (olaf_counters::events_lost); the
 * data path never waits for a reader.
 *
 * A record of the ring buffer is one struct olaf_event and behind it `captured_bytes` of the
 * frame it is about, from its first byte. All in host order but the frame.
 *
 * Compiled as BPF C, C11 and C++.
 */
#ifndef OLAF_EVENTS_H
#define OLAF_EVENTS_H

#include "olaf/counters.h"
#include "olaf/protocol.h"

enum olaf_event_kind {
	OLAF_EVENT_KIND_LIST(OLAF_REASON_CONSTANT)
	OLAF_EVENT_KINDS,
};

/* How an arrival joined the queue: its detail. */
enum olaf_joined {
	OLAF_JOINED_LIST(OLAF_REASON_CONSTANT)
	OLAF_JOINED_ACTIONS,
};

/* How a departure left: its detail. */
enum olaf_left {
	OLAF_LEFT_LIST(OLAF_REASON_CONSTANT)
	OLAF_LEFT_WAYS,
};

/* Why an update was dropped: its detail. The cause of a malformed or refused one is its enum's. */
enum olaf_dropped {
	OLAF_DROPPED_LIST(OLAF_REASON_CONSTANT)
	OLAF_DROPPED_REASONS,
};

/* Where frames were lost behind the queue: the loss's detail. */
enum olaf_lost {
	OLAF_LOST_LIST(OLAF_REASON_CONSTANT)
	OLAF_LOST_PLACES,
};

/* One event. What has no meaning for a kind is zero. */
struct olaf_event {
	__u64 time_ns; /* CLOCK_MONOTONIC; of a departure: D, of an arrival: A */
	__s64 tai_offset_ns; /* time_ns + this is CLOCK_TAI */
	__u64 generated_ns; /* CLOCK_TAI, from the worker: as credible as its clock */
	__u64 first_arrived_ns; /* departure: the first update folded in, monotonic */
	__u64 arrived_ns; /* departure: the newest update folded in, monotonic */
	__u32 cluster;
	__u32 worker; /* the update's, or the newest folded one's */
	__u32 sequence; /* the same update's */
	/* Arrival, drop: of this update, 0 if it is malformed or a job's; departure: folded in; loss: in its frames. */
	__u32 count;
	__u32 model_version; /* of an entry: the oldest folded */
	__u32 queue_length; /* places taken when the event was written: a hint, read without a lock */
	__u32 cpu;
	__u32 sampled; /* of how many events this is one: olaf_listen::sample at the time */
	__u32 frame_bytes; /* length of the whole frame */
	__u32 captured_bytes; /* of it behind this struct */
	__u32 frames; /* loss: how many; else 0 */
	__u16 segment;
	__u8 kind; /* enum olaf_event_kind */
	__u8 detail; /* the kind's enum */
	__u8 cause; /* of DROPPED_MALFORMED and DROPPED_NOT_ALLOWED */
	__u8 pad[7];
};
OLAF_SPAN(olaf_event, 0, 40, time_ns, tai_offset_ns, generated_ns, first_arrived_ns, arrived_ns);
OLAF_SPAN(olaf_event, 40, 68, cluster, worker, sequence, count, model_version, queue_length, cpu);
OLAF_SPAN(olaf_event, 68, 88, sampled, frame_bytes, captured_bytes, frames, segment, kind, detail);
OLAF_LAST(olaf_event, 88, 96, cause, pad);

/* Longest piece of a frame an event carries. */
#define OLAF_EVENT_FRAME_MAX 2048

/* How long after its last renewal a listener is taken to be there. */
#define OLAF_LISTEN_LEASE_NS 3000000000ULL

/*
 * olaf_listen[0]: who listens to what. Writer: the one listener, field by field, until_ns
 * last. All zero: nobody.
 */
struct olaf_listen {
	__u32 first_cluster; /* events of clusters first ... last, and those of no cluster */
	__u32 last_cluster;
	__u32 kinds; /* bit 1 << enum olaf_event_kind for each that is wanted */
	__u32 sample; /* one of so many events, counted by CPU; 0 and 1: all */
	__u32 frame_bytes; /* bytes of the frame wanted with each, at most OLAF_EVENT_FRAME_MAX */
	__u32 pad;
	__u64 until_ns; /* CLOCK_MONOTONIC: the lease */
};
OLAF_SPAN(olaf_listen, 0, 24, first_cluster, last_cluster, kinds, sample, frame_bytes, pad);
OLAF_LAST(olaf_listen, 24, 32, until_ns);

/*
 * olaf_losses[0], one copy a CPU: frames that the queue sent and that were then refused or
 * dropped, by place, and the updates in them. The drain's are in olaf_counters
 * (departures_refused, updates_refused), and 0 here. It means something only while the programs
 * of bpf/loss.bpf.c are attached.
 */
struct olaf_losses {
	OLAF_LOSS_COUNTER_LIST(OLAF_FAMILY_FIELD)
};
OLAF_LAST(olaf_losses, 0, 112, frames, updates);

/*
 * olaf_watched[0]: whose losses they are. Writer: user space; read field by field. An index
 * of a device says nothing without its namespace, and tracepoints see all of them.
 */
struct olaf_watched {
	__u32 netns; /* inode of the network namespace */
	__u32 ifindex; /* the queue's device */
	__u32 egress_ifindex; /* the device that departures leave by; 0: they go up the stack */
	__u32 drain_ifindex; /* the drain's two ends */
	__u32 kick_ifindex;
	__u32 skb_mode; /* generic XDP */
	__be16 port_be; /* UDP port of updates */
	__u16 pad[3];
};
OLAF_SPAN(olaf_watched, 0, 20, netns, ifindex, egress_ifindex, drain_ifindex, kick_ifindex);
OLAF_LAST(olaf_watched, 20, 32, skb_mode, port_be, pad);

#endif /* OLAF_EVENTS_H */
