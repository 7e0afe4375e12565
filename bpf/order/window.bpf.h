/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The window: may one more departure be under way?
 *
 * Map olaf_window (key 0) and map olaf_flights (key 0, OLAF_FLIGHTS x struct olaf_flight).
 * Writers: whoever lets an update leave (arrivals, the drain), and the TC program that
 * sees its ACK, all under the ring's lock; `unmatched` alone is added to atomically.
 * Reading without the lock gives hints. With olaf_cfg.window 0 nothing here is called.
 *
 * No timer gives up a lost ACK: whoever asks whether a departure is due looks at
 * expires_ns, and the drain's token goes round while anything waits.
 */
#ifndef OLAF_WINDOW_BPF_H
#define OLAF_WINDOW_BPF_H

#include "bpf/control.bpf.h"
#include "bpf/order/window_pilot.bpf.h"
#include "bpf/order/window_rtt.bpf.h"
#include "olaf/queue.h"

/* Flights looked at in one go; where more have come to their end, the next look goes on. */
#define OLAF_WINDOW_STEPS 32

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_window);
} olaf_window SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, OLAF_FLIGHTS * sizeof(struct olaf_flight));
} olaf_flights SEC(".maps");

static __always_inline struct olaf_window *olaf_the_window(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_window, &zero);
}

static __always_inline struct olaf_flight *olaf_flight_at(__u64 position)
{
	struct olaf_flight *flights;
	__u32 zero = 0;

	flights = bpf_map_lookup_elem(&olaf_flights, &zero);
	if (!flights)
		return NULL;
	return &flights[position & (OLAF_FLIGHTS - 1)];
}

/* Departures that may be unacknowledged now. */
static __always_inline __u32 olaf_window_size(const struct olaf_window *window)
{
	__u32 size = olaf_cfg.window;

	if (READ_ONCE(window->silent))
		return 1;
	if (olaf_cfg.flags & OLAF_CONFIG_WINDOW_AUTO)
		size = olaf_pilot_size(&window->pilot, olaf_cfg.window);
	return size;
}

/*
 * Is there room for one more? `detach` waits for no server that is silent: what waits
 * then leaves at the rate. A hint without the ring's lock.
 */
static __always_inline int olaf_window_has_room(const struct olaf_window *window, __u64 now)
{
	return READ_ONCE(window->in_flight) < olaf_window_size(window) ||
	       (READ_ONCE(window->silent) && olaf_emptying(now));
}

/* Without the lock: could olaf_window_opens() be true? */
static __always_inline int olaf_window_may_open(__u64 now)
{
	struct olaf_window *window;

	if (!olaf_cfg.window)
		return 1;
	window = olaf_the_window();
	return window && (now >= READ_ONCE(window->expires_ns) ||
			  olaf_window_has_room(window, now));
}

/* Without the lock: when will a departure be due if no ACK comes? */
static __always_inline __u64 olaf_window_opens_ns(__u64 now)
{
	struct olaf_window *window;

	if (!olaf_cfg.window)
		return 0;
	window = olaf_the_window();
	if (!window || olaf_window_has_room(window, now))
		return 0;
	return READ_ONCE(window->expires_ns);
}

/* All that is in flight is given up: since the oldest of it left, nothing was answered. */
static __always_inline void olaf_window_fall_silent(struct olaf_window *window)
{
	window->forgiven += window->in_flight;
	window->in_flight = 0;
	window->oldest = window->next;
	window->silent = 1;
	window->rtt.backoff++;
	olaf_pilot_restart(&window->pilot, window->next);
}

/*
 * Moves `oldest` past flights that are acknowledged, and past those whose time has come:
 * their ACKs are forgiven. Under the ring's lock. A global function: verified once.
 */
__noinline int olaf_window_advance(__u64 now)
{
	struct olaf_window *window = olaf_the_window();
	struct olaf_flight *flight;
	__u64 expires_ns;
	int i;

	if (!window)
		return -1;
	for (i = 0; i < OLAF_WINDOW_STEPS; i++) {
		if (window->oldest == window->next) {
			window->expires_ns = OLAF_NEVER_NS;
			return 0;
		}
		flight = olaf_flight_at(window->oldest);
		if (!flight)
			return -1;
		if (flight->state == OLAF_FLIGHT_OPEN) {
			expires_ns = flight->departed_ns + olaf_rtt_timeout(&window->rtt);
			if (now < expires_ns) {
				window->expires_ns = expires_ns;
				return 0;
			}
			if (window->answered_ns < flight->departed_ns) {
				olaf_window_fall_silent(window);
				continue;
			}
			window->in_flight--;
			window->forgiven++;
		}
		window->oldest++;
	}
	window->expires_ns = 0;
	return 0;
}

/* May one more departure leave? Under the ring's lock. */
static __always_inline int olaf_window_opens(__u64 now)
{
	struct olaf_window *window;

	if (!olaf_cfg.window)
		return 1;
	window = olaf_the_window();
	if (!window)
		return 0;
	if (now >= window->expires_ns)
		olaf_window_advance(now);
	return olaf_window_has_room(window, now);
}

/* The update leaves. Under the ring's lock, after olaf_window_opens(). */
static __always_inline void olaf_window_depart(const struct olaf_pending *update, __u64 now)
{
	struct olaf_window *window;
	struct olaf_flight *flight;

	if (!olaf_cfg.window)
		return;
	window = olaf_the_window();
	if (!window)
		return;
	flight = olaf_flight_at(window->next);
	if (!flight)
		return;
	/* So many later flights were answered that this one's ACK won't come. */
	if (window->next - window->oldest >= OLAF_FLIGHTS) {
		if (flight->state == OLAF_FLIGHT_OPEN) {
			window->in_flight--;
			window->forgiven++;
		}
		window->oldest++;
	}
	flight->cluster = update->cluster;
	flight->worker = update->worker;
	flight->sequence = update->sequence;
	flight->segment = update->segment;
	flight->segments = update->segments;
	flight->generated_ns = update->generated_ns;
	flight->departed_ns = now;
	flight->state = OLAF_FLIGHT_OPEN;
	if (window->oldest == window->next)
		window->expires_ns = now + olaf_rtt_timeout(&window->rtt);
	window->next++;
	window->in_flight++;
}

#endif /* OLAF_WINDOW_BPF_H */
