/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_gate: does the output device take frames?
 *
 * A program learns nothing of a frame after it has handed it on; the loss programs
 * (bpf/loss.bpf.c) do. The first frame that is refused shuts the gate:
 *
 *   open       | a frame is refused            | shut
 *   shut       | a probe of the drain's leaves  | ajar: one departure may try
 *   ajar       | it is refused                 | shut
 *              | OLAF_GATE_SETTLE_NS later not | open
 *
 * So of many that would be lost only those are that were on their way when the device went,
 * and one for each probe that misleads: at most one in OLAF_GATE_PROBE_NS.
 *
 * Key 0, value struct olaf_gate. Writers: the loss programs write shut_ns and lost_ns; the drain
 * probed_ns and asked_ns; who opens it clears lost_ns, by compare-and-swap, unless a newer loss
 * stands there; who lets a departure try writes tried_ns, under the ring's lock. Each word is
 * written whole, and read without a lock.
 */
#ifndef OLAF_GATE_BPF_H
#define OLAF_GATE_BPF_H

#include "bpf/config.bpf.h"

/* A refusal is known this long after the departure: a driver's poll ends sooner. */
#define OLAF_GATE_SETTLE_NS 20000000ULL
#define OLAF_GATE_PROBE_NS 100000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_gate);
} olaf_gate SEC(".maps");

static __always_inline struct olaf_gate *olaf_the_gate(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_gate, &zero);
}

/* The way out refused a frame: it is down, has no carrier, or is gone. */
static __always_inline void olaf_gate_lost(__u64 now)
{
	struct olaf_gate *gate = olaf_the_gate();

	if (!gate)
		return;
	if (!READ_ONCE(gate->lost_ns))
		WRITE_ONCE(gate->shut_ns, now);
	WRITE_ONCE(gate->lost_ns, now);
}

/* Is nothing known against the way out? Only then may an update pass by the queue. */
static __always_inline int olaf_gate_open(void)
{
	struct olaf_gate *gate;

	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	gate = olaf_the_gate();
	return gate && !READ_ONCE(gate->lost_ns);
}

/*
 * Ajar: has a probe left since the last refusal, and may a departure try? Opens the gate if
 * one has tried, and nothing was heard of a refusal.
 */
static __always_inline int olaf_gate_ajar(struct olaf_gate *gate, __u64 lost, __u64 now)
{
	__u64 probed = READ_ONCE(gate->probed_ns);
	__u64 tried = READ_ONCE(gate->tried_ns);

	if (probed <= lost)
		return 0;
	if (tried <= probed)
		return 1;
	if (now < tried + OLAF_GATE_SETTLE_NS)
		return 0;
	return __sync_val_compare_and_swap(&gate->lost_ns, lost, 0) == lost;
}

/* May a departure leave now? With `tries` it does, and after a refusal it is the only one. */
static __always_inline int olaf_gate_lets(__u64 now, int tries)
{
	struct olaf_gate *gate;
	__u64 lost;

	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	gate = olaf_the_gate();
	if (!gate)
		return 0;
	lost = READ_ONCE(gate->lost_ns);
	if (!lost)
		return 1;
	if (!olaf_gate_ajar(gate, lost, now))
		return 0;
	if (tries)
		WRITE_ONCE(gate->tried_ns, now);
	return 1;
}

static __always_inline int olaf_gate_may(__u64 now)
{
	return olaf_gate_lets(now, 0);
}

/* The same when a departure is popped, under the ring's lock. */
static __always_inline int olaf_gate_take(__u64 now)
{
	return olaf_gate_lets(now, 1);
}

/* May the drain probe a shut gate now? Who is told so does it. */
static __always_inline int olaf_gate_may_probe(__u64 now)
{
	struct olaf_gate *gate = olaf_the_gate();
	__u64 last;

	if (!gate || !READ_ONCE(gate->lost_ns))
		return 0;
	last = READ_ONCE(gate->asked_ns);
	return now > last && now - last >= OLAF_GATE_PROBE_NS &&
	       __sync_val_compare_and_swap(&gate->asked_ns, last, now) == last;
}

/* The output device took a probe. */
static __always_inline void olaf_gate_probed(__u64 now)
{
	struct olaf_gate *gate = olaf_the_gate();

	if (gate)
		WRITE_ONCE(gate->probed_ns, now);
}

#endif /* OLAF_GATE_BPF_H */
