/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Map olaf_xdp_gate: does the output device take the frames that XDP redirects to it?
 *
 * A device may take what the drain sends and still refuse XDP's frames: its driver has no send
 * queue for XDP, none for this CPU, or none before the device has an XDP program of its own. While
 * this gate is shut the drain sends everything, and XDP asks again by frames that hold no update:
 *
 *   open   | a frame of XDP's is refused                     | shut
 *   shut   | wait_ns later: an update has been folded or      | asked
 *          | dropped, so its frame is free, and is the probe  |
 *   asked  | the probe is refused                             | shut, for twice as long
 *          | OLAF_XDP_GATE_SETTLE_NS later it isn't           | open
 *
 * Key 0, value struct olaf_xdp_gate, one copy a CPU. A frame is refused on the CPU that sent it, in
 * the same softirq, so plain writes are exact. Writers: the loss programs and XDP on that CPU, and
 * `olaf attach`, which shuts all copies and runs olaf_output_prove on each CPU to open its own.
 */
#ifndef OLAF_XDP_GATE_BPF_H
#define OLAF_XDP_GATE_BPF_H

#include "bpf/config.bpf.h"
#include "olaf/way.h"

/* A refusal is known this long after the frame has left: a driver's poll ends sooner. */
#define OLAF_XDP_GATE_SETTLE_NS 20000000ULL
/* XDP asks a device that goes on refusing once a minute. */
#define OLAF_XDP_GATE_LONGEST_NS 60000000000ULL
/* An open XDP gate that is refused after this many waits begins anew with the shortest wait. */
#define OLAF_XDP_GATE_STEADY 16

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct olaf_xdp_gate);
} olaf_xdp_gate SEC(".maps");

static __always_inline struct olaf_xdp_gate *olaf_xdp_gate_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&olaf_xdp_gate, &zero);
}

/* The output refused a frame that XDP sent on this CPU; `error` says why. */
static __always_inline void olaf_xdp_gate_refused(int error, __u64 now)
{
	struct olaf_xdp_gate *gate = olaf_xdp_gate_here();
	__u64 wait;

	if (!gate)
		return;
	wait = gate->wait_ns;
	if (!gate->refused_ns && now - gate->asked_ns > OLAF_XDP_GATE_STEADY * wait)
		gate->wait_ns = OLAF_XDP_GATE_SHORTEST_NS;
	else if (gate->asked_ns > gate->refused_ns)
		gate->wait_ns = wait < OLAF_XDP_GATE_LONGEST_NS / 2 ? 2 * wait :
								      OLAF_XDP_GATE_LONGEST_NS;
	gate->refused_ns = now;
	gate->error = error;
}

/* May XDP send frames out now? Opens the gate if a probe has left, and nothing was heard of a refusal. */
static __always_inline int olaf_xdp_gate_open(__u64 now)
{
	struct olaf_xdp_gate *gate;

	if (olaf_cfg.deliver == OLAF_DELIVER_LOCAL)
		return 1;
	gate = olaf_xdp_gate_here();
	if (!gate)
		return 0;
	if (!gate->refused_ns)
		return 1;
	if (gate->asked_ns <= gate->refused_ns || now < gate->asked_ns + OLAF_XDP_GATE_SETTLE_NS)
		return 0;
	gate->refused_ns = 0;
	return 1;
}

/* Is it time for a probe by XDP? Its gate is shut, and no probe is under way. */
static __always_inline int olaf_xdp_gate_asks(__u64 now)
{
	const struct olaf_xdp_gate *gate = olaf_xdp_gate_here();

	return gate && gate->refused_ns && gate->asked_ns <= gate->refused_ns &&
	       now > gate->refused_ns + gate->wait_ns;
}

/* A probe leaves by XDP. */
static __always_inline void olaf_xdp_gate_asked(__u64 now)
{
	struct olaf_xdp_gate *gate = olaf_xdp_gate_here();

	if (gate)
		gate->asked_ns = now;
}

#endif /* OLAF_XDP_GATE_BPF_H */
